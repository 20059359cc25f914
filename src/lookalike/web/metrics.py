"""Counters and latency histograms of a server in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping

# Upper bounds of the histogram buckets.
HISTOGRAM_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one server. Not thread-safe."""

    def __init__(self) -> None:
        self.under_way = 0
        self._answers: dict[tuple[str, int], int] = defaultdict(int)
        self._times: dict[str, list[int]] = defaultdict(lambda: [0] * (len(HISTOGRAM_SECONDS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)
        self._counts: dict[str, int] = defaultdict(int)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Record a response to a request. path: the path in the schema, with placeholders instead of ids."""
        self._answers[path, status] += 1
        self._times[path][bisect_left(HISTOGRAM_SECONDS, seconds)] += 1
        self._seconds[path] += seconds

    def count(self, name: str, by: int) -> None:
        """Add to the counter lookalike_`name`_total."""
        self._counts[name] += by

    def text(self, gauges: Mapping[str, float], labels: Mapping[str, str]) -> str:
        """Return all metrics as text. gauges: current values; labels: constant labels of lookalike_info.

        >>> print(Metrics().text({"items": 3}, {"kind": "documents"}), end="")
        # TYPE lookalike_info gauge
        lookalike_info{kind="documents"} 1
        # TYPE lookalike_items gauge
        lookalike_items 3
        # TYPE lookalike_requests_under_way gauge
        lookalike_requests_under_way 0
        """
        lines = ["# TYPE lookalike_info gauge", f"lookalike_info{_labels(labels)} 1"]
        for name, value in {**gauges, "requests_under_way": self.under_way}.items():
            lines += [f"# TYPE lookalike_{name} gauge", f"lookalike_{name} {value:g}"]
        for name, total in sorted(self._counts.items()):
            lines += [f"# TYPE lookalike_{name}_total counter", f"lookalike_{name}_total {total}"]
        if self._answers:
            lines.append("# TYPE lookalike_requests_total counter")
        for (path, status), total in sorted(self._answers.items()):
            lines.append(f"lookalike_requests_total{_labels({'path': path, 'status': str(status)})} {total}")
        if self._times:
            lines.append("# TYPE lookalike_request_seconds histogram")
        for path, times in sorted(self._times.items()):
            below = 0
            for edge, times_here in zip([*map(str, HISTOGRAM_SECONDS), "+Inf"], times, strict=True):
                below += times_here
                lines.append(f"lookalike_request_seconds_bucket{_labels({'path': path, 'le': edge})} {below}")
            lines.append(f"lookalike_request_seconds_sum{_labels({'path': path})} {self._seconds[path]:.6f}")
            lines.append(f"lookalike_request_seconds_count{_labels({'path': path})} {below}")
        return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    """Format labels as {a="x",b="y"}, with the escapes of the format."""
    escaped = (value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for value in labels.values())
    return "{" + ",".join(f'{name}="{value}"' for name, value in zip(labels, escaped, strict=True)) + "}"
