// What is asked of the API, and how it goes.

import { address, asProblem, request } from '../../api.js'
import { clock } from '../../format.js'
import { useCallback, useEffect, useRef, useState } from '../../html.js'
import { lower, valueOf, varied } from '../../strategies.js'
import { rowsAt } from './csv.js'

/** @import { Survey } from './csv.js' */

/**
 * A result; ruled: it was planned under other rules or resources than the operator's.
 *
 * @typedef {API['WhatIfResult'] & { ruled?: boolean }} Result
 */

/** @typedef {Omit<API['WhatIfResults'], 'results'> & { results: Result[] }} Answer */

/**
 * Combinations to be planned: strategies, and all values of each parameter by its name in a
 * what-if. A list without any stands for what holds where nothing is said.
 *
 * @typedef {{ strategies: string[], values: Record<string, any[]> }} Grid
 */

/**
 * What is planned on: a stored interval, by its plan and under other rules and resources if there are any, or a CSV.
 *
 * @typedef {{ kind: 'interval', plan: Plan, rules?: unknown[], resources?: unknown[],
 *   name?: undefined }} OfInterval
 * @typedef {{ kind: 'csv', body: string | File, name: string, survey: Survey, query: Query }} OfCSV
 * @typedef {OfInterval | OfCSV} Source
 */

/**
 * How a request goes. took is how many milliseconds its answer needed.
 *
 * @typedef {object} Running
 * @property {'idle' | 'running' | 'done' | 'failed'} state
 * @property {Answer | null} answer
 * @property {string} name
 * @property {Source | null} source
 * @property {Problem | null} problem
 * @property {number} since
 * @property {number} [took]
 */

/** The parameters of the hash function that a query can say. */
export const hashFields = ['hash_function', 'tokens_per_instance', 'max_parallelism', 'key_type', 'partitions']

/** @param {object} limit */
const limitText = (limit) =>
  Object.entries(limit)
    .map(([unit, amount]) => `${unit}:${amount}`)
    .join()

/**
 * Parameters as a query takes them, where null is a word.
 *
 * @param {Grid} grid
 */
function queryOf({ strategies, values }) {
  const lists = varied().map((p) => [
    p.grid,
    (values[p.grid] ?? []).map((value) =>
      value === null ? p.none : typeof value === 'object' ? limitText(value) : value,
    ),
  ])
  return { strategies, ...Object.fromEntries(lists) }
}

/**
 * The request that a source and a grid of parameters make: {path, query, body, type}.
 * plans asks for the lists of the plans, too.
 * @param {Source} source
 * @param {Grid} grid
 * @param {boolean} [plans]
 * @returns {Asked}
 */
export function requestOf(source, grid, plans = false) {
  if (source.kind === 'interval') {
    return {
      path: `v1/plans/${encodeURIComponent(source.plan.id)}/replay`,
      body: {
        strategies: grid.strategies,
        ...(source.rules && { placement: { rules: source.rules } }),
        ...(source.resources && { resources: source.resources }),
        parameters: Object.fromEntries(
          Object.entries(grid.values)
            .filter(([, list]) => list.length > 0)
            .map(([name, list]) => [name.replace('target_', ''), list]),
        ),
        ...(plans && { plans }),
      },
    }
  }
  return {
    path: 'v1/what-if',
    query: { ...source.query, ...queryOf(grid), ...(plans && { plans }) },
    body: source.body,
    type: 'text/csv',
  }
}

/**
 * The grid of one result: its parameters alone.
 *
 * @param {Result} result
 * @param {Source} source
 * @returns {Grid}
 */
export function gridOf({ strategy, parameters, migrates }, source) {
  /** @param {ReturnType<typeof varied>[number]} p */
  const values = (p) => {
    const value = valueOf(parameters, p)
    // A goal without a limit has none, and records are compact already.
    const needless =
      p.type === 'migration_limit' || p.name === 'target_instances'
        ? value === null
        : migrates === 'classes' && p.name.startsWith('compact/')
    // The deadline of an interval's plan holds where nothing is said, so none is said, too.
    return needless || (value === null && p.type === 'duration' && source.kind === 'csv') ? [] : [value]
  }
  return { strategies: [strategy], values: Object.fromEntries(varied().map((p) => [p.grid, values(p)])) }
}

/**
 * A result named by what it was planned with, so that it is found again in another run.
 *
 * @param {Result} result
 */
export const nameOf = ({ strategy, parameters }) =>
  [
    strategy,
    ...varied().map((p) => {
      const value = valueOf(parameters, p)
      return value === null ? p.none : typeof value === 'object' ? limitText(value) : value
    }),
  ].join('~')

/**
 * What a request is, its file by its fingerprint: two of the same name have the same answer.
 *
 * @param {Asked} asked
 * @param {Source} source
 */
export const nameOfRequest = ({ path, query, body }, source) =>
  JSON.stringify([address(path, query), source.kind === 'csv' ? [source.survey.bytes, source.survey.hash] : body])

/**
 * @param {Asked} asked
 * @param {AbortSignal} signal
 */
async function send({ path, query, body, type }, signal) {
  /** @type {{ data: Answer }} */
  const { data } = await request('POST', path, { query, body, type, signal })
  const ruled = body !== null && typeof body === 'object' && ('placement' in body || 'resources' in body)
  for (const result of data.results) {
    Object.assign(result.parameters, { target_instances: result.target_instances })
    result.ruled = ruled
  }
  return { data }
}

/**
 * Errors in words: a row by its line and its text, a parameter by its name.
 *
 * @param {Problem} problem
 * @param {Source} source
 */
async function explain(problem, source) {
  if (problem.errors.length === 0) return problem
  /** @param {FieldError} error */
  const rowOf = ({ pointer }) => (source.kind === 'csv' ? pointer?.match(/^\/(\d+)(?:\/(.+))?$/) : null)
  /** @type {Map<number | undefined, string[]>} */
  const rows =
    source.kind === 'csv'
      ? await rowsAt(
          source.body,
          problem.errors.filter(rowOf).map(({ line }) => line ?? 0),
        )
      : new Map()
  problem.errors = problem.errors.map((error) => {
    const at = rowOf(error)
    const row = at && rows.get(error.line)
    const column = at?.[2] ? `${at[2]} ` : ''
    const said = error.detail.replace(/ at byte \d+$/, '')
    if (row)
      return {
        pointer: `line ${error.line}`,
        detail: `${column}${said}: ${shorten(row.join(',')) || 'an empty line'}`,
      }
    if (source.kind === 'csv' && error.pointer)
      return { pointer: `line 1`, detail: `column ${error.pointer.slice(1)}: ${error.detail}` }
    const parts = (error.parameter ?? error.pointer ?? '').split('/')
    const named = varied().find((p) => parts.includes(p.grid))
    return named ? { parameter: lower(named.label), detail: error.detail } : error
  })
  return problem
}

/** @param {string} text */
const shorten = (text) => (text.length > 120 ? `${text.slice(0, 120)}…` : text)

/**
 * The newest answer, for when the visitor comes back to this page.
 *
 * @type {{ answer: Answer, name: string, source: Source, took: number } | null}
 */
let last = null

/** @type {Running} */
const idle = { state: 'idle', answer: null, name: '', source: null, problem: null, since: 0 }

/**
 * Runs requests one at a time. answer is that of the request called name, on source.
 */
export function useRun() {
  const [run, setRun] = useState(/** @returns {Running} */ () => ({ ...idle }))
  const abort = useRef(/** @type {AbortController | null} */ (null))
  useEffect(() => () => abort.current?.abort(), [])

  const start = useCallback(async (/** @type {Asked} */ asked, /** @type {Source} */ source) => {
    abort.current?.abort()
    const name = nameOfRequest(asked, source)
    if (last?.name === name) {
      setRun((old) => ({ ...old, state: 'done', ...last, problem: null }))
      return
    }
    const own = new AbortController()
    abort.current = own
    const since = clock()
    setRun((old) => ({ ...old, state: 'running', problem: null, since }))
    try {
      const { data } = await send(asked, own.signal)
      if (own.signal.aborted) return
      last = { answer: data, name, source, took: clock() - since }
      setRun((old) => ({ ...old, state: 'done', ...last, problem: null }))
    } catch (thrown) {
      if (own.signal.aborted) return
      const problem = await explain(asProblem(thrown), source)
      setRun((old) => ({ ...old, state: 'failed', problem }))
      if (problem !== thrown) throw thrown
    }
  }, [])

  const cancel = useCallback(() => {
    abort.current?.abort()
    setRun((old) => ({ ...old, state: old.answer ? 'done' : 'idle' }))
  }, [])

  /**
   * Forgets what is known, so that the same is asked again.
   *
   * @param {Asked} asked
   * @param {Source} source
   */
  const renew = (asked, source) => {
    last = null
    return start(asked, source)
  }
  return { ...run, start, renew, cancel }
}

/**
 * One result with its lists, planned again.
 *
 * @param {Result} result
 * @param {Source} source
 * @param {AbortSignal} signal
 */
export async function planOf(result, source, signal) {
  const { data } = await send(requestOf(source, gridOf(result, source), true), signal)
  const [found] = data.results
  return { ...found, key_encoding: data.key_encoding, input_hash: data.input_hash }
}
