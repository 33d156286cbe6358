// The client of the public API: requests, problems, the token, and resources that
// views watch.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { clock, setClock } from './format.js'
import { forGood, forTab } from './storage.js'
import { Topic, useTopic } from './topic.js'

const tokenKey = 'plannerd.token'

/**
 * What the page knows of the server, for all views: whether a token is asked for and
 * why, and whether the server answers at all. Views hear of changes by useSession.
 */
export const session = { asks: false, refused: false, offline: false, visit: 0 }
const sessions = new Topic()

/** @param {Partial<typeof session>} change */
function tell(change) {
  if (Object.entries({ ...session, ...change }).every(([name, value]) => Object.is(value, Object(session)[name])))
    return
  Object.assign(session, change)
  sessions.tell()
}

export function useSession() {
  useTopic(sessions)
  return session
}

const token = () => forTab.get(tokenKey) ?? forGood.get(tokenKey)

export const signedIn = () => token() !== null

/**
 * Takes a token for this tab, or for as long as the browser keeps it. Views load anew.
 *
 * @param {string} secret
 * @param {boolean} remember
 */
export function signIn(secret, remember) {
  signOff()
  const storage = remember ? forGood : forTab
  storage.set(tokenKey, secret)
  tell({ asks: false, refused: false, visit: session.visit + 1 })
}

export function signOut() {
  signOff()
  tell({ asks: false, refused: false, visit: session.visit + 1 })
}

function signOff() {
  forTab.remove(tokenKey)
  forGood.remove(tokenKey)
}

// Another tab signed in or out.
addEventListener('storage', ({ key }) => {
  if (key === tokenKey || key === null) tell({ asks: false, refused: false, visit: session.visit + 1 })
})

/** What an answer other than 2xx says (RFC 9457), or that there was none: status 0. */
export class Problem extends Error {
  /**
   * @param {object} said what the answer says
   * @param {number} [said.status]
   * @param {string} [said.title]
   * @param {string} [said.detail]
   * @param {string} [said.code]
   * @param {FieldError[]} [said.errors]
   * @param {string} [said.request_id]
   * @param {number} [retryAfter] seconds
   */
  constructor({ status = 0, title = '', detail = '', code = '', errors = [], request_id = '' }, retryAfter = 0) {
    super(detail || title)
    this.name = 'Problem'
    this.status = status
    this.title = title
    this.detail = detail
    this.code = code
    this.errors = errors
    this.requestID = request_id
    this.retryAfter = retryAfter
  }
}

/**
 * What was thrown as a Problem: of another error, which is a fault of the page, its message.
 *
 * @param {unknown} thrown
 */
export const asProblem = (thrown) =>
  thrown instanceof Problem
    ? thrown
    : new Problem({ title: 'A fault of this page', detail: thrown instanceof Error ? thrown.message : String(thrown) })

/**
 * Whether a request was given up by the page itself.
 *
 * @param {unknown} thrown
 */
export const wasAborted = (thrown) => thrown instanceof Error && thrown.name === 'AbortError'

/**
 * The address of something of the API: query values that are null, undefined or '' are
 * left out, lists are comma-separated.
 * @param {string} path
 * @param {Record<string, unknown>} [query]
 */
export function address(path, query = {}) {
  const said = Object.entries(query).filter(
    ([, value]) =>
      value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
  const text = said
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value)).replaceAll('%2C', ',')}`)
    .join('&')
  return path + (text && `?${text}`)
}

/**
 * Asks the API. body is sent as JSON unless it is a string, a Blob or bytes, which then
 * need a type. Answers with {status, data, etag}; data is that of the JSON, null for 204
 * and 304. Throws a Problem, or the AbortError of signal.
 *
 * @template [T=any]
 * @param {string} method
 * @param {string} path
 * @param {RequestOptions} [options]
 * @returns {Promise<Answer<T>>}
 */
export async function request(method, path, { query, ...options } = {}) {
  const answer = await send(address(path, query), initOf(method, options))
  const tag = answer.headers.get('ETag')
  if (answer.status === 304 || answer.status === 204)
    return { status: answer.status, data: /** @type {any} */ (null), etag: tag, headers: answer.headers }
  if (!answer.ok) throw await problemOf(answer)
  const kind = answer.headers.get('Content-Type') ?? ''
  if (!kind.startsWith('application/json')) throw foreign()
  const data = await answer.json().catch(cut)
  return { status: answer.status, data, etag: tag, headers: answer.headers }
}

/**
 * What a fault within an answer is.
 *
 * @param {unknown} error
 * @returns {never}
 */
function cut(error, detail = 'The answer broke off.') {
  if (wasAborted(error) || error instanceof Problem) throw error
  throw new Problem({ title: 'Cut answer', detail })
}

/**
 * What there is at a path in another type, whole, as a Blob. onBytes hears how much of it is there.
 *
 * @param {string} path
 * @param {{ query?: Record<string, unknown>, accept: string, signal?: AbortSignal, onBytes?: (bytes: number)
 *   => void }} options
 */
export async function download(path, { query, accept, signal, onBytes }) {
  const answer = await send(address(path, query), initOf('GET', { accept, signal }))
  if (!answer.ok) throw await problemOf(answer)
  const reader = bodyOf(answer).getReader()
  /** @type {BlobPart[]} */
  const chunks = []
  try {
    for (let bytes = 0; ;) {
      const { value, done } = await reader.read()
      if (done) return new Blob(chunks, { type: accept })
      chunks.push(value)
      bytes += value.byteLength
      onBytes?.(bytes)
    }
  } catch (error) {
    return cut(error, 'The answer broke off, so nothing was saved.')
  }
}

/**
 * Asks for an answer in lines of JSON and gives each to hear as it comes. Throws as
 * request does, also when the answer breaks off.
 *
 * @param {string} method
 * @param {string} path
 * @param {(line: any) => void} hear
 * @param {RequestOptions} [options]
 */
export async function requestLines(method, path, hear, { query, ...options } = {}) {
  const answer = await send(address(path, query), initOf(method, { ...options, accept: 'application/x-ndjson' }))
  if (!answer.ok) throw await problemOf(answer)
  const reader = bodyOf(answer).pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let rest = ''; ;) {
      const { value = '\n', done } = await reader.read()
      const [end, ...lines] = value.split('\n')
      rest += end
      for (const next of lines) {
        if (rest !== '') hear(JSON.parse(rest))
        rest = next
      }
      if (done) return
    }
  } catch (error) {
    cut(error)
  }
}

/**
 * The body of an answer that has one.
 *
 * @param {Response} answer
 */
const bodyOf = (answer) => answer.body ?? new Blob([]).stream()

/** What a page of somebody else says, such as that of a proxy where one signs in: nothing about what was asked for. */
const foreign = () =>
  new Problem({
    status: 502,
    title: 'Somebody else answered',
    detail:
      'The answer is not one of plannerd, but of something between it and this page. Loading the page anew may help.',
  })

/**
 * @param {string} method
 * @param {RequestOptions} options
 * @returns {RequestInit}
 */
function initOf(method, { body, type, headers = {}, etag, match, signal, accept = 'application/json' }) {
  return {
    method,
    signal,
    cache: 'no-store',
    credentials: 'same-origin',
    headers: {
      Accept: accept,
      ...(token() && { Authorization: `Bearer ${token()}` }),
      ...(etag && { 'If-None-Match': etag }),
      ...(match && { 'If-Match': match }),
      ...(body !== undefined && { 'Content-Type': type ?? 'application/json' }),
      ...headers,
    },
    body: body === undefined || type ? /** @type {BodyInit | undefined} */ (body) : JSON.stringify(body),
  }
}

/**
 * @param {string} url
 * @param {RequestInit} init
 */
async function send(url, init) {
  const sent = token()
  let answer
  try {
    answer = await fetch(url, init)
  } catch (error) {
    if (wasAborted(error)) throw error
    tell({ offline: true })
    throw new Problem({
      title: 'No answer',
      detail: 'The server does not answer: it is down, or there is no way to it.',
    })
  }
  tell({ offline: false })
  const date = answer.headers.get('Date')
  if (date !== null) setClock(date)
  if (answer.status === 401 && sent === token()) tell({ asks: true, refused: sent !== null })
  return answer
}

/** @param {Response} answer */
async function problemOf(answer) {
  /** @type {Record<string, any>} */
  let said = {}
  try {
    said = (await answer.json()) ?? {}
  } catch {
    // Not from the service itself, but from something before it.
  }
  // That may also write JSON of another kind, of which only what is a text can be shown.
  const texts = Object.fromEntries(
    ['title', 'detail', 'code', 'request_id']
      .filter((name) => typeof said[name] === 'string')
      .map((name) => [name, said[name]]),
  )
  const errors = Array.isArray(said.errors) ? said.errors.filter((error) => typeof error?.detail === 'string') : []
  return new Problem(
    { title: answer.statusText || `Status ${answer.status}`, ...texts, errors, status: answer.status },
    retryAfter(answer),
  )
}

const mostPatience = 600 // seconds, whatever an answer asks for

/**
 * The seconds after which an answer asks to try again.
 *
 * @param {Response} answer
 */
const retryAfter = (answer) => Math.min(mostPatience, Math.max(0, Number(answer.headers.get('Retry-After')) || 0))

/** A name for a request that changes something, so that sending it twice does it once. */
export function idempotencyKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')
}

/**
 * Sends what changes something; see request.
 *
 * @param {string} path
 * @param {unknown} body
 * @param {RequestOptions & { key?: string }} [options]
 */
export const change = (path, body, options = {}) =>
  request('POST', path, {
    body,
    ...options,
    headers: { 'Idempotency-Key': options.key ?? idempotencyKey(), ...options.headers },
  })

/**
 * The pages of a list that are known, by their addresses.
 *
 * @typedef {Map<string, Answer<any>>} Known
 */

/**
 * All items of a list, page by page, at most limit: {items, more}. Pages that are known
 * are not sent again; status is 304 if all are. known is brought up to date.
 *
 * @template T
 * @param {string} path
 * @param {string} member
 * @param {{ query?: Record<string, unknown>, limit: number, signal: AbortSignal, known: Known }} options
 * @returns {Promise<Answer<Items<T>>>}
 */
async function list(path, member, { query, limit, signal, known }) {
  /** @type {T[]} */
  const items = []
  /** @type {Known} */
  const pages = new Map()
  let status = 304
  for (let page_token = null; ;) {
    const url = address(path, { page_size: Math.min(1000, limit - items.length), ...query, page_token })
    const old = known.get(url)
    const answer = await request('GET', url, { etag: old?.etag, signal })
    const page = answer.status === 304 && old ? old : answer
    if (page !== old) status = 200
    pages.set(url, page)
    items.push(...page.data[member])
    page_token = page.data.next_page_token
    if (page_token !== null && items.length < limit) continue
    known.clear()
    pages.forEach((kept, name) => known.set(name, kept))
    const data = { items: items.slice(0, limit), more: page_token !== null || items.length > limit }
    return { status, data, etag: 'pages' }
  }
}

const nothing = { data: null, etag: null, problem: null, at: 0 }

/**
 * Watches a resource. With every, in milliseconds, it is asked again as long as the page
 * is visible; while it fails, data stays what it was and is tried again after ever longer
 * times. A path of null is not asked for. every may be a function of the data, the same
 * one each time; it gives 0 for what does not change any more.
 *
 * take is given {data, etag} that another request has answered with: what was asked
 * before is older, and no longer listened to.
 *
 * load, by default a GET of path, may be any function of (signal, etag) that gives
 * {status, data, etag}; then path only names what is loaded.
 *
 * @template [T=any]
 * @param {string | null} path
 * @param {{ query?: Record<string, unknown>, every?: number | ((data: T) => number), load?: Ask<T> }} [options]
 * @returns {Watched<T>}
 */
export function useResource(path, { query, every = 0, load } = {}) {
  /** @typedef {{ url: string | null } & Pick<Watched<T>, 'data' | 'etag' | 'problem' | 'at'>} Shown */
  const { visit } = useSession()
  const url = path === null ? null : address(path, query)
  const [state, setState] = useState(/** @returns {Shown} */ () => ({ url, ...nothing }))
  const current = useRef(/** @type {{ ask?: () => Promise<void>, take?: (answer: Answer<T>) => void }} */ ({}))
  const reload = useCallback(() => current.current.ask?.(), [])
  const take = useCallback((/** @type {Answer<T>} */ answer) => current.current.take?.(answer), [])

  useEffect(() => {
    if (url === null) return undefined
    const abort = new AbortController()
    /** @type {{ data: T | null, etag: string | null }} */
    let known = { data: null, etag: null }
    let timer = 0
    let failures = 0
    let asked = 0
    setState((old) => (old.url === url && old.data !== null ? old : { url, ...nothing }))
    /** @param {number} ms */
    const later = (ms) => {
      timer = setTimeout(() => (document.hidden ? later(ms) : ask()), ms)
    }
    /** @param {Answer<T>} answer */
    const settle = (answer) => {
      if (answer.status !== 304) known = { data: answer.data, etag: answer.etag ?? null }
      failures = 0
      setState({ url, ...known, problem: null, at: clock() })
      const ms = typeof every === 'function' ? every(answer.data ?? /** @type {T} */ (known.data)) : every
      if (ms > 0) later(ms)
    }
    const ask = async () => {
      clearTimeout(timer)
      const turn = ++asked
      try {
        const get = load ?? ((signal, etag) => request('GET', url, { signal, etag }))
        const answer = await get(abort.signal, known.etag)
        if (abort.signal.aborted || turn !== asked) return
        settle(answer)
      } catch (problem) {
        if (wasAborted(problem) || abort.signal.aborted || turn !== asked) return
        if (!(problem instanceof Problem)) throw problem
        setState((old) => ({ ...old, url, problem }))
        if (passing(problem)) later(pauseAfter(problem, failures++))
      }
    }
    /** @param {Answer<T>} answer */
    const taken = (answer) => {
      clearTimeout(timer)
      asked++
      settle(answer)
    }
    current.current = { ask, take: taken }
    ask()
    const online = () => {
      failures = 0
      ask()
    }
    addEventListener('online', online)
    return () => {
      abort.abort()
      clearTimeout(timer)
      removeEventListener('online', online)
    }
  }, [url, every, visit])

  // What was loaded for another address must not be shown for this one.
  const shown = state.url === url ? state : nothing
  return { ...shown, loading: url !== null && shown.data === null && shown.problem === null, reload, take }
}

/**
 * Watches all items of a list, up to limit; data is {items, more}. See useResource.
 *
 * @template [T=any]
 * @param {string | null} path
 * @param {string} member
 * @param {{ query?: Record<string, unknown>, limit?: number, every?: number | ((data: Items<T>) => number) }} [options]
 * @returns {Watched<Items<T>>}
 */
export function useList(path, member, { query, limit = 5_000, every } = {}) {
  const [known] = useState(() => /** @type {Known} */ (new Map()))
  return useResource(path, {
    query,
    every,
    load: (signal, etag) => {
      if (etag === null) known.clear() // nothing of it is shown
      return list(path ?? '', member, { query, limit, signal, known })
    },
  })
}

/**
 * Whether asking again may help.
 *
 * @param {{ status: number }} problem
 */
export const passing = (problem) =>
  problem.status === 0 ||
  problem.status === 429 ||
  problem.status === 503 ||
  (problem.status >= 500 && problem.status !== 501)

const shortest = 1_000
const longest = 30_000

/**
 * The milliseconds until something is asked for again that failed, and did before so many
 * times: ever more, or what the server says.
 *
 * @param {Problem} problem
 * @param {number} failures
 */
export const pauseAfter = (problem, failures) =>
  Math.max(problem.retryAfter * 1000, Math.min(longest, shortest * 2 ** failures))
