import json

from forge_ugc.report.document import explanation_document, result_document


def test_every_figure_of_a_result(make_result, events):
    document = result_document(make_result(near_misses=[events.missed(0), events.missed(1)]))
    assert json.loads(json.dumps(document)) == {
        "version": 1,
        "model": "Net",
        "target": "cpu",
        "precision": None,
        "seconds": 4.0,
        "phase_seconds": {"capture": 3.0, "passes": 1.0},
        "nodes": {
            "before": 10,
            "after": 4,
            "reduction": 0.6,
            "by_operator_before": {"aten.mul.Tensor": 8, "aten.relu.default": 2},
            "by_operator_after": {"rms_norm": 4},
        },
        "fused_operators": {"rms_norm": 4},
        "attention_fused": 0,
        "passes": [
            {"name": "dead-code", "round": 1, "seconds": 0.25, "nodes_before": 10,
             "nodes_after": 10, "changed": 0, "max_abs_difference": None},
            {"name": "fuse-operators", "round": 1, "seconds": 0.25, "nodes_before": 10,
             "nodes_after": 4, "changed": 3, "max_abs_difference": None},
            {"name": "dead-code", "round": 2, "seconds": 0.25, "nodes_before": 4,
             "nodes_after": 4, "changed": 0, "max_abs_difference": None},
        ],
        "instructions": {
            "total": 6,
            "by_opcode": {"rms_norm": 4, "aten.view.default": 2},
            "host": {"rms_norm": 4},
        },
        "memory": {
            "registers": 6, "buffers": 2, "external_buffers": 1, "buffer_reduction": 0.5,
            "reused_in_place": 1, "strategy": "linear-scan", "peak_bytes": 105000,
            "lower_bound_bytes": 100000, "constant_bytes": 3145728,
        },
        "transitions": {"before": 5, "after": 3},
        "near_misses": [
            {"rule": "sdpa", "text": "the mask is [float]", "module": "model.layers.*.attn",
             "source": "model.py:9", "node": "sdpa_0", "count": 2},
        ],
    }  # fmt: skip


def test_explanation(events):
    document = explanation_document([events.fired(0), events.fired(1)], [events.missed(3)])
    assert document["fired"][0]["count"] == 2
    assert document["near_misses"][0]["text"] == "the mask is [float]"
