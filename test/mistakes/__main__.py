"""The mistakes as a table of what is tried and its message: `python -m mistakes` with `test` on the path.

python -m mistakes                     all
python -m mistakes compile python      those of these files
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from mistakes.cases import AREAS, mistakes
from mistakes.running import entered, make_folder, make_template, message_of, try_again, try_first


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m mistakes", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("areas", nargs="*", metavar="AREA", default=AREAS, help="default: all")
    parser.add_argument("--only", default="", help="a word of what is tried")
    parser.add_argument("--hide-next", action="store_true", help="neither run nor print the next tries")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        template = Path(scratch, "template")
        make_template(template)
        for area in args.areas:
            print(f"# {area}")
            for number, mistake in enumerate(mistakes(area)):
                if args.only not in mistake.tried:
                    continue
                folder = Path(scratch, f"{area}{number}")
                make_folder(folder, template, mistake)
                with entered(folder):
                    ran = try_first(mistake)
                    print(f"\n$ {mistake.tried}\n[{ran.code}] {message_of(ran)}")
                    if args.hide_next:
                        continue
                    if mistake.then != mistake.tried or mistake.write:
                        again = try_again(mistake)
                        print(
                            f"then: {mistake.then}\n[{again.code}] {message_of(again)[:300] if again.code else ''}"
                        )
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
