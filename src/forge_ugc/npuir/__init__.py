"""NPUIR, the typed register IR: the one meeting point of front ends and backends."""
