import { readDocsBuild } from '../../../src/config/docs-build.ts'

const folder = process.env.HOLDFAST_TEST_DOCS_DIR
/** The documentation as scripts/test.mjs has built it, read once in a process. */
export const docsOfRun = folder ? readDocsBuild(folder) : undefined
