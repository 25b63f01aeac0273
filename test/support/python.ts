// Python of this machine: the program itself, since a launcher in its place, as pyenv has one, takes longer than what it starts.

const ABOUT = 'import sys, importlib.util; print(sys.executable); print(importlib.util.find_spec("pytest"))'
const [executable = '', pytest] = Bun.spawnSync(['python3', '-c', ABOUT]).stdout.toString().trim().split('\n')

/** The path of Python. */
export const PYTHON: string = executable
/** Whether it has pytest. */
export const HAS_PYTEST: boolean = pytest !== 'None'
/** Environment in which pytest loads no plugins that happen to be installed: that would take longer than the tests. */
export const PYTEST_ENV = { PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1', PYTHONDONTWRITEBYTECODE: '1' }
