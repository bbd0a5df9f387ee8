"""Phase 4: liveness, device-affinity scheduling and placement of results in one arena."""
