import type { Deployment } from './deployment.ts'
import type { Options } from './options.ts'
export async function runKills(_deployment: Deployment, _apiKey: string, _options: Options): Promise<boolean> {
  throw new Error('draft')
}
