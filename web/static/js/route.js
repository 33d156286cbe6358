// Where the visitor is: the fragment of the address, as "#/plans/42?sort=cost". It works
// wherever the page is served, and every view can be linked to.

import { useEffect, useState } from 'preact/hooks'
import { address } from './api.js'
import { Topic } from './topic.js'

/**
 * The current place: {path, query}; parts of the path are decoded.
 *
 * @returns {{ path: string, query: Query }}
 */
export function here() {
  const [path, query = ''] = location.hash.replace(/^#/, '').split('?')
  return { path: path.split('/').map(decode).join('/') || '/', query: Object.fromEntries(new URLSearchParams(query)) }
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/**
 * The link to a place; parts of the path are taken as they are, and encoded.
 *
 * @param {(string | number)[]} parts
 * @param {Record<string, unknown>} [query]
 */
export const link = (parts, query) => address(`#/${parts.map(encodeURIComponent).join('/')}`, query)

const moves = new Topic()
addEventListener('hashchange', () => moves.tell())

export function useRoute() {
  const [route, setRoute] = useState(here)
  const [drawn] = useState(() => location.hash)
  useEffect(() => {
    if (location.hash !== drawn) setRoute(here()) // it changed before anybody listened
    return moves.listen(() => setRoute(here()))
  }, [])
  return route
}

/**
 * Changes what the query of this place says, without a new entry in the history.
 *
 * @param {Record<string, unknown>} change
 */
export function setQuery(change) {
  const { query } = here()
  const [path] = location.hash.split('?')
  history.replaceState(history.state, '', address(path || '#/', { ...query, ...change }))
  moves.tell()
}
