import { createRoot } from 'react-dom/client'
import { readBoot } from './api/boot.ts'
import { call } from './api/client.ts'
import './styles/tokens.css'
import './styles/components.css'
import './styles/pages.css'

const boot = readBoot()
createRoot(document.getElementById('root')!).render(<h1>{boot.me.tenant_name}</h1>)
void call('GET /v1/admin/devices', { query: { limit: 100 } }).then((d) => d.items[0]?.name)
