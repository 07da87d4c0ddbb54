import { useQuery } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { selectedTenant } from '../../api/selected-tenant.ts'
import { useStable } from '../../ui/use-stable.ts'
import { DraftSession, lastSaveEnded, type Start } from './draft-session.ts'
import { readDraft } from './stored-drafts.ts'

/**
 * Reads a draft and its version once. A later answer would replace what a person types or reviews.
 *
 * @param use separates the views: an editor that closes may leave an older text in the cache
 */
export const useStoredDraft = (draftId: string | undefined, use: 'edit' | 'review') =>
  useQuery<Awaited<ReturnType<typeof readDraft>>, ApiError>({
    queryKey: [use, 'policy-draft', draftId, selectedTenant()],
    queryFn: async ({ signal }) => {
      await lastSaveEnded()
      return readDraft(draftId ?? '', signal)
    },
    enabled: draftId !== undefined && draftId !== '',
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })

/**
 * Keeps the text of a draft on the server while the editor is open.
 *
 * @param onCreated gets the id of a draft that was created
 */
export function useDraftStore(start: Start, isReadOnly: boolean, onCreated: (draftId: string) => void) {
  const created = useStable(onCreated)
  const [session] = useState(() => new DraftSession({ start, isReadOnly, onCreated: created }))
  const state = useSyncExternalStore(session.subscribe, session.read)
  useEffect(() => session.open(), [session])
  return { ...session, ...state }
}
export type DraftStore = ReturnType<typeof useDraftStore>
