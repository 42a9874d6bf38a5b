"""Render the conda recipe for every platform, and compare it with pyproject.toml.

Needs py-rattler-build, of the group `project`. Run: python tools/check_recipe.py.
"""

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from rattler_build import RenderConfig, Stage0Recipe, VariantConfig
from rattler_build.tool_config import PlatformConfig

ROOT = Path(__file__).resolve().parents[1]
PLATFORMS = ("linux-64", "linux-aarch64", "osx-64", "osx-arm64")
#: Variants as in the settings of conda-forge.
VARIANTS = {"python": ["3.12.* *_cpython"], "c_stdlib": ["sysroot"]}


def rendered(platform: str) -> set[str]:
    """Return the run-time requirements of the package for a platform."""
    recipe = Stage0Recipe.from_file(ROOT / "recipe" / "recipe.yaml")
    variants = recipe.render(
        VariantConfig(VARIANTS),
        RenderConfig(platform=PlatformConfig(target_platform=platform)),
    )
    assert len(variants) == 1, f"{len(variants)} packages for {platform}"
    needed = variants[0].recipe.to_dict()["requirements"]["run"]
    return {" ".join(str(each).split()) for each in needed}


def main() -> int:
    """Compare; return the exit code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    stated = map(Requirement, project["project"]["dependencies"])
    wanted = {f"{each.name} {each.specifier}" for each in stated} | {"python"}
    different = {}
    for platform in PLATFORMS:
        if found := rendered(platform) ^ wanted:
            different[platform] = sorted(found)
    for platform, names in different.items():
        print(
            f"error: {platform}: only one of recipe/recipe.yaml and pyproject.toml "
            f"requires {names}",
            file=sys.stderr,
        )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
