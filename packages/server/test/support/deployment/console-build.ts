import { readConsoleBuild } from '../../../src/config/console-build.ts'

const folder = process.env.HOLDFAST_TEST_CONSOLE_DIR
/** The web console as scripts/test.mjs has built it, read once in a process. */
export const consoleOfRun = folder ? readConsoleBuild(folder) : undefined
