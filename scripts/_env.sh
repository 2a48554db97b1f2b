# Sourced by the other scripts. `ensure_env runtime|dev` makes .venv or updates it, and is quick when there is
# nothing to do. It uses uv if that is installed, else the standard library's venv and pip.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="$ROOT/.venv"

# Whether a Python starts, is new enough and can run this line.
_runs() { "$1" -c "import sys; $2; sys.exit(sys.version_info < (3, 11))" >/dev/null 2>&1; }

# The first candidate that really runs (a version manager's shim may exist and still fail).
find_python() {
    local candidate
    for candidate in python3 python3.11 python3.12 python3.13 python3.14; do
        if _runs "$candidate" "$1"; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# What the environment was made from: a change in any of it means installing again.
_fingerprint() {
    local version
    version="$("$VENV/bin/python" -V 2>/dev/null)" || return 1
    echo "$version $ROOT $(cat "$ROOT/pyproject.toml" "$ROOT/constraints.txt" | cksum)"
}

_is_current() {
    local now
    [[ -f "$VENV/.stamp-$1" ]] && now="$(_fingerprint)" && [[ "$(<"$VENV/.stamp-$1")" == "$now" ]]
}

# First every package by its version and the hash of its file, the build backend included; then Holdfast itself, which
# has no hash and needs nothing more. All optional parts are installed, so a line in holdfast.toml is enough to use one.
_install_with() {
    local wanted="$VENV/.requirements-$1.txt"
    shift
    case "$wanted" in
        *-dev.txt) cp "$ROOT/constraints.txt" "$wanted" ;;
        *) sed '/^# To work on it/,$d' "$ROOT/constraints.txt" >"$wanted" ;;
    esac
    "$@" --require-hashes --no-deps -r "$wanted"
    "$@" --no-deps --no-build-isolation -e "$ROOT"
}

_install() {
    local python in_venv="assert sys.prefix != sys.base_prefix"
    echo "holdfast: preparing .venv ($1)" >&2
    # A moved or copied environment still points at the place it was made in.
    [[ ! -f "$VENV/.stamp-runtime" || "$(<"$VENV/.stamp-runtime")" == *" $ROOT "* ]] || rm -rf "$VENV"
    if command -v uv >/dev/null; then
        if ! _runs "$VENV/bin/python" "$in_venv"; then
            python="$(find_python pass)" || python=">=3.11"
            rm -rf "$VENV"
            uv venv --quiet --python "$python" "$VENV"
        fi
        _install_with "$1" uv pip install --quiet --python "$VENV/bin/python"
    else
        if ! _runs "$VENV/bin/python" "$in_venv; import pip"; then
            python="$(find_python "import ensurepip, venv")" || {
                echo "holdfast: needs Python 3.11 or newer with the venv module (on Debian: python3-venv), or uv." >&2
                return 1
            }
            "$python" -m venv --clear "$VENV"
        fi
        _install_with "$1" "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check
    fi
    _fingerprint >"$VENV/.stamp-runtime"
    [[ "$1" != dev ]] || cp "$VENV/.stamp-runtime" "$VENV/.stamp-dev"
}

ensure_env() {
    _is_current "$1" && return
    # Two scripts started together install one after the other; the second finds the work done.
    if command -v flock >/dev/null; then
        exec 9>"$ROOT/.venv.lock"
        flock 9
        if ! _is_current "$1"; then _install "$1"; fi
        exec 9>&-
    else
        _install "$1"
    fi
}
