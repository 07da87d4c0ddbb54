// All that is loaded while PostgreSQL starts, which is most of the code.

export { startJobs } from '../jobs/runner.ts'
export { bootstrap } from './bootstrap.ts'
export { createApp } from './create-app.ts'
