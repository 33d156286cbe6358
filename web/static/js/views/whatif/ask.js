// What is asked of the API, and how it goes.

import { address, request } from '../../api.js'
import { useCallback, useEffect, useRef, useState } from '../../html.js'
import { rowsAt } from './csv.js'
import { noLimit, typed } from './values.js'

/** The parameters of the hash function that a query can say. */
export const hashFields = ['hash_function', 'tokens_per_instance', 'max_parallelism', 'key_type', 'partitions']

/** Parameters as JSON takes them: lists of those that are said. */
function parametersOf(grid) {
  const { strategies, ...lists } = grid
  return Object.fromEntries(Object.entries(lists).filter(([, values]) => values.length > 0))
}

const limitText = (limit) => Object.entries(limit).map(([unit, amount]) => `${unit}:${amount}`).join()

/** Parameters as a query takes them. What is not limited at all is left out. */
function queryOf({ strategies, ...lists }) {
  const limits = lists.table_limit.every((l) => l === null) ? [] : lists.table_limit.map((l) => l ?? noLimit)
  return { strategies, ...lists, table_limit: limits, migration_limit: lists.migration_limit.map(limitText) }
}

/**
 * The request that a source and a grid of parameters make: {path, query, body, type}.
 * plans asks for the lists of the plans, too.
 */
export function requestOf(source, grid, plans = false) {
  if (source.kind === 'interval') {
    return { path: `v1/plans/${encodeURIComponent(source.plan.id)}/replay`, body: { strategies: grid.strategies, parameters: parametersOf(grid), ...(plans && { plans }) } }
  }
  return { path: 'v1/what-if', query: { ...source.query, ...queryOf(grid), ...(plans && { plans }) }, body: source.body, type: 'text/csv' }
}

/** The grid of one result: its parameters alone. */
export function gridOf({ strategy, parameters: p, migrates }, source) {
  const one = (value) => (value === null || value === undefined ? [] : [value])
  const interval = source.kind === 'interval'
  return {
    strategies: [strategy], theta_max: [p.theta_max], table_limit: [p.table_limit === noLimit ? null : p.table_limit], beta: [p.beta],
    key_overhead: [p.key_overhead], certificate: [p.certificate], objective: [p.objective], migration_limit: one(p.migration_limit), work_budget: [p.work_budget],
    // The deadline of an interval's plan holds where nothing is said, so none is said, too.
    deadline: interval && p.deadline === null ? [null] : one(p.deadline), compact_degree: migrates === 'classes' ? [] : one(p.compact?.degree ?? 0),
  }
}

/** A result named by what it was planned with, so that it is found again in another run. */
export const nameOf = ({ strategy, parameters: p }) => [strategy, p.theta_max, p.table_limit === null || p.table_limit === noLimit ? 'none' : p.table_limit, p.beta, p.compact?.degree ?? 0, p.objective,
  p.migration_limit ? limitText(p.migration_limit) : '', p.deadline ?? '', p.certificate].join('~')

/** What a request is, its file by its fingerprint: two of the same name have the same answer. */
export const nameOfRequest = ({ path, query, body, type }, source) => JSON.stringify([address(path, query), type ? [source.survey.bytes, source.survey.hash] : body])

const send = ({ path, query, body, type }, signal) => request('POST', path, { query, body, type, signal })

/** Errors in words: a row by its line and its text, a parameter by its name. */
async function explain(problem, source) {
  if (problem.name !== 'Problem' || problem.errors.length === 0) return problem
  const rowOf = ({ pointer }) => (source.kind === 'csv' ? pointer?.match(/^\/(\d+)(?:\/(.+))?$/) : null)
  const rows = source.kind === 'csv' ? await rowsAt(source.body, problem.errors.map(rowOf).filter(Boolean).map((m) => Number(m[1]))) : new Map()
  problem.errors = problem.errors.map((error) => {
    const at = rowOf(error)
    const row = at && rows.get(Number(at[1]))
    if (row) return { pointer: `line ${row.line}`, detail: `${at[2] ? `${at[2]} ` : ''}${error.detail.replace(/ at byte \d+$/, '')}: ${shorten(row.cells.join(',')) || 'an empty line'}` }
    if (source.kind === 'csv' && error.pointer) return { pointer: `line 1`, detail: `column ${error.pointer.slice(1)}: ${error.detail}` }
    const name = (error.parameter ?? error.pointer ?? '').split('/').find((part) => typed[part])
    return name ? { parameter: typed[name].name, detail: error.detail } : error
  })
  return problem
}

const shorten = (text) => (text.length > 120 ? `${text.slice(0, 120)}…` : text)

let last = null // the newest answer, for when the visitor comes back to this page

/**
 * Runs requests one at a time: {state, answer, name, source, problem, since, start,
 * renew, cancel}. answer is that of the request called name, on source. States: idle, running, done, failed.
 */
export function useRun() {
  const [run, setRun] = useState({ state: 'idle', answer: null, name: '', source: null, problem: null, since: 0 })
  const abort = useRef(null)
  useEffect(() => () => abort.current?.abort(), [])

  const start = useCallback(async (asked, source) => {
    abort.current?.abort()
    const name = nameOfRequest(asked, source)
    if (last?.name === name) {
      setRun({ state: 'done', ...last, problem: null })
      return
    }
    const own = new AbortController()
    abort.current = own
    const since = Date.now()
    setRun((old) => ({ ...old, state: 'running', problem: null, since }))
    try {
      const { data } = await send(asked, own.signal)
      if (own.signal.aborted) return
      last = { answer: data, name, source, took: Date.now() - since }
      setRun({ state: 'done', ...last, problem: null })
    } catch (thrown) {
      if (own.signal.aborted) return
      const problem = await explain(thrown, source)
      setRun((old) => ({ ...old, state: 'failed', problem }))
      if (problem.name !== 'Problem') throw problem
    }
  }, [])

  const cancel = useCallback(() => {
    abort.current?.abort()
    setRun((old) => ({ ...old, state: old.answer ? 'done' : 'idle' }))
  }, [])

  /** Forgets what is known, so that the same is asked again. */
  const renew = (asked, source) => {
    last = null
    return start(asked, source)
  }
  return { ...run, start, renew, cancel }
}

/** One result with its lists, planned again. */
export async function planOf(result, source, signal) {
  const { data } = await send(requestOf(source, gridOf(result, source), true), signal)
  const [found] = data.results
  return { ...found, key_encoding: data.key_encoding, input_hash: data.input_hash }
}
