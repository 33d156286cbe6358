// One analysis on its way: asked for when the question changes, with its progress.

import { passing, Problem, requestLines, useSession, wasAborted } from '../../api.js'
import { duration } from '../../format.js'
import { html, useEffect, useRef, useState } from '../../html.js'

/**
 * An analysis on its way. While another answer is on its way the last result stays; took
 * is how many milliseconds it needed.
 *
 * @typedef {object} State
 * @property {boolean} busy
 * @property {{ phase: string, done: number, total: number } | null} progress
 * @property {{ of: Asked, data: any } | null} result
 * @property {Problem | null} problem
 * @property {number | null} took
 * @property {boolean} cancelled
 *
 * @typedef {State & { again: () => void, cancel: () => void }} Run
 */

/** @type {State} */
const idle = { busy: false, progress: null, result: null, problem: null, took: null, cancelled: false }
const pause = 5_000 // before a request is made again that may succeed then

/**
 * Asks a question, and asks anew when it is another one; null asks nothing.
 *
 * @param {Asked | null} question
 * @returns {Run}
 */
export function useAnalysis(question) {
  const { visit } = useSession()
  const [state, setState] = useState(idle)
  const [turn, setTurn] = useState(0)
  const running = useRef(/** @type {AbortController | null} */ (null))

  useEffect(() => {
    if (question === null) {
      setState(idle)
      return undefined
    }
    const abort = new AbortController()
    running.current = abort
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer
    const begun = performance.now()
    const { path, ...rest } = question
    setState((old) => ({ ...idle, result: old.result, busy: true }))
    /** @type {unknown} */
    let result = null
    requestLines(
      'POST',
      path,
      (line) => {
        if (line.problem) throw new Problem(line.problem)
        if (line.progress) setState((old) => ({ ...old, progress: line.progress }))
        else result = line.result
      },
      { ...rest, signal: abort.signal },
    )
      .then(() => {
        if (result === null) throw new Problem({ title: 'Cut answer', detail: 'The answer broke off.' })
        setState({ ...idle, result: { of: question, data: result }, took: performance.now() - begun })
      })
      .catch((problem) => {
        if (wasAborted(problem) || abort.signal.aborted) return
        if (!(problem instanceof Problem)) throw problem
        setState({ ...idle, problem })
        if (passing(problem))
          timer = setTimeout(() => setTurn((n) => n + 1), Math.max(pause, problem.retryAfter * 1000))
      })
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [question, turn, visit])

  const cancel = () => {
    running.current?.abort()
    setState((old) => ({ ...idle, result: old.result, cancelled: true }))
  }
  return { ...state, again: () => setTurn((n) => n + 1), cancel }
}

/** @type {Record<string, string>} */
const phaseWords = {
  run: 'Running the schemes',
  advise: 'Trying numbers of choices',
  plan: 'Planning',
  planning: 'Planning each interval by each policy',
  table: 'Planning all joins and leaves',
  sketch: 'Making the sketches',
  reach: 'Looking for what token counts can reach',
  paper: "Repeating the paper's experiments",
  'simulate final_merge': 'Simulating, with a final merge',
  'simulate state_forwarding': 'Simulating, with state forwarding',
  'simulate old_owner': 'Simulating, with mappers that keep to the old owner',
  hash_modulo: 'Hashing',
  hash_ring: 'Hashing on a ring',
  ring: 'Redistributing tokens',
  pkg: 'Partial key grouping',
  mixed: 'Planning by Mixed',
  optimal: 'Planning the optimum',
  split: 'Splitting keys',
  split_priced: 'Splitting rather than moving',
  ranges: 'Dividing key ranges',
}

/**
 * How far the analysis is, and the button that ends it.
 *
 * @param {{ run: Run }} props
 */
export function Progress({ run }) {
  if (run.cancelled)
    return html`<p class="stale analyses-cancelled" role="status">
      Cancelled${run.result ? '. What is shown below is the answer to the question before.' : '.'}
    </p>`
  if (!run.busy)
    return html`<p class="visually-hidden" role="status">
      ${run.took === null ? '' : `Done in ${duration(run.took)}.`}
    </p>`
  const { phase, done, total } = run.progress ?? {}
  const words = phase ? (phaseWords[phase] ?? phase) : 'Reading the keys'
  const share = done !== undefined && total !== undefined && total > 0 ? Math.min(1, done / total) : undefined
  return html`<div class="row analyses-progress">
    <span class="analyses-phase" role="status">${words} …</span>
    <progress aria-label=${words} max="1" value=${share}></progress>
    <span class="muted analyses-share">${share === undefined ? '' : `${Math.floor(100 * share)} %`}</span>
    <button type="button" onClick=${run.cancel}>Cancel</button>
  </div>`
}

/** @param {Run} run */
export const tookWords = (run) => (run.took === null ? null : `Answered in ${duration(run.took)}.`)
