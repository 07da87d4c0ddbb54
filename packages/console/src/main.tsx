import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode, startTransition } from 'react'
import { createRoot } from 'react-dom/client'
import { followChanges } from './api/live.ts'
import { queryClient } from './api/query-client.ts'
import { router } from './router.tsx'
import './styles/tokens.css'
import './styles/components.css'
import './styles/pages.css'

const root = document.getElementById('root')
if (!root) throw new Error('the page has no element with the id root')
// A transition renders in short tasks, so that a slow processor answers keys meanwhile.
startTransition(() =>
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  ),
)
followChanges()
