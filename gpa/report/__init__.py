"""An evaluation as a page that people read: one self-contained HTML file, or a folder of them when a run is large.

```python
from gpa.report import write_report

write_report("gpa.db", "report.html")
```

`reading` loads what was judged, `overview`, `findings` and `steps` decide what is shown (plain data), `page` makes HTML
of it, `writing` puts it into files. Everything a trace holds is made harmless in `visible` and escaped by the template.
"""

from __future__ import annotations

from gpa.report.writing import Written, write_report

__all__ = ["Written", "write_report"]
