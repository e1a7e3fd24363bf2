"""Ask each address for `/readyz`; exit code 1 and a line for each that is not ready."""

import sys
import urllib.error
import urllib.request


def problem(address: str) -> str | None:
    try:
        with urllib.request.urlopen(f"http://{address}/readyz", timeout=10):
            return None
    except urllib.error.HTTPError as error:
        return f"{address}: {error.code} {error.read().decode(errors='replace').strip()}"
    except OSError as error:
        return f"{address}: {error}"


problems = list(filter(None, map(problem, sys.argv[1:])))
print("\n".join(problems) or f"all of {len(sys.argv) - 1} components are ready")
sys.exit(bool(problems))
