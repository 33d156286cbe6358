// What if: many combinations of strategies and parameters, planned on one interval and
// compared. Nothing is stored but what is proposed, and all of it is in the link.

import { passing, Problem } from '../api.js'
import { counted, duration } from '../format.js'
import { html, useEffect, useRef, useState } from '../html.js'
import { announce, Card, Code, CopyButton, tabs, Trouble, useDrop, useNow, useTitle } from '../parts.js'
import { link, setQuery } from '../route.js'
import { commandOf } from '../shell.js'
import { nameOfRequest, requestOf, useRun } from './whatif/ask.js'
import { Interval, sourceOf as sourceOfInterval, useInterval } from './whatif/interval.js'
import { Opened } from './whatif/opened.js'
import { Parameters, parametersOf } from './whatif/parameters.js'
import { Results } from './whatif/results.js'
import { sourceOf as sourceOfCSV, Statistics, useStatistics } from './whatif/statistics.js'

/** @import { Source } from './whatif/ask.js' */

/** @param {Query} query */
const kindOf = (query) =>
  query.source === 'csv' || query.source === 'interval'
    ? query.source
    : !query.plan && (query.csv || query.rows)
      ? 'csv'
      : 'interval'

/** @typedef {ReturnType<typeof useRun>} Run */

/** What the sample is asked: enough to see a trade-off. */
const sampleQuestion = {
  instances: '8',
  strategies: 'mixed,minmig,mintable,optimal',
  theta_max: '1%, 2%, 5%, 10%, 20%',
  table_limit: '40, none',
  run: '1',
  open: null,
}

/** @param {{ query: Query }} props */
export default function WhatIf({ query }) {
  useTitle('What if · plannerd')
  const kind = kindOf(query)
  const csv = useStatistics(query)
  const interval = useInterval(query)
  const { source, problem } = kind === 'csv' ? sourceOfCSV(csv, query) : sourceOfInterval(interval)
  const plan = source?.kind === 'interval' ? source.plan : null
  const parameters = parametersOf(query, plan)
  const wrong = problem || parameters.problem
  const asked = wrong || source === null ? null : requestOf(source, parameters.grid)
  const run = useRun()
  const dropping = useDrop((file) => {
    setQuery({ source: 'csv', open: null, run: null })
    csv.take(file)
  })

  const untouched =
    kind === 'csv' ? csv.text === '' && csv.body === null : interval.plan.data === null && !interval.plan.problem
  const start = () => {
    setQuery({ source: kind, ...parameters.texts, run: '1', open: null })
    if (asked && source) run.renew(asked, source)
  }
  // Another file than that of the link is not asked about by itself.
  useLinkedRun(query, kind === 'csv' && csv.other ? null : asked, source, run)

  /** @type {(name: string, text: string) => [string, string, boolean]} */
  const tab = (name, text) => [
    text,
    link(['what-if'], { ...query, source: name, run: null, open: null }),
    kind === name,
  ]
  return html`
    <div class="row title">
      <h1>What if</h1>
      <p class="muted">
        Plans of one interval under other strategies and limits, side by side. Nothing is stored but what you propose.
      </p>
    </div>
    ${dropping && html`<p class="whatif-drop" aria-hidden="true">Drop the file to ask about it</p>`}
    <div class="grid">
      <${Card} title="Statistics" class="half">
        ${tabs('Where statistics come from', [tab('interval', 'A stored interval'), tab('csv', 'A CSV of your own')])}
        ${
          kind === 'csv'
            ? html`<${Statistics}
                csv=${csv}
                query=${query}
                busy=${run.state === 'running'}
                onSample=${() => csv.fill(sampleQuestion)}
              />`
            : html`<${Interval} interval=${interval} />`
        }
      <//>
      <${Card} title="Parameters" class="half"><${Parameters} parameters=${parameters} plan=${plan} /><//>
    </div>
    <${Bar}
      ...${{ run, asked, source, wrong, untouched }}
      total=${parameters.total}
      start=${start}
    />
    ${
      run.state === 'failed' &&
      run.problem &&
      html`<${Trouble}
        problem=${inWords(run.problem, kind)}
        retry=${asked && (passing(run.problem) || run.problem.status === 408) ? start : undefined}
        itself=${false}
      />`
    }
    ${
      run.answer &&
      html`
        ${
          (!asked || !source || nameOfRequest(asked, source) !== run.name) &&
          run.state !== 'running' &&
          html`<p class="stale" role="status">
            These are the results of an earlier question: what is asked above has changed since.
          </p>`
        }
        <${Results} answer=${run.answer} source=${run.source} query=${query} />
        ${query.open && html`<${Opened} answer=${run.answer} source=${run.source} query=${query} />`}
      `
    }
  `
}

/**
 * Runs what a link asks for, once it is known what that is.
 *
 * @param {Query} query
 * @param {Asked | null} asked
 * @param {Source | null} source
 * @param {Run} run
 */
function useLinkedRun(query, asked, source, run) {
  const ran = useRef(false)
  useEffect(() => {
    if (query.run !== '1') ran.current = false
    if (ran.current || query.run !== '1' || asked === null || source === null) return
    ran.current = true
    if (run.state !== 'running') run.start(asked, source)
  }, [query.run, asked === null])
}

/**
 * What problems mean here.
 *
 * @param {Problem} problem
 * @param {string} kind
 */
function inWords(problem, kind) {
  const { status, title, detail, code, errors, requestID } = problem
  const said =
    status === 410
      ? [
          'The statistics of this interval are gone',
          'They were not stored, or are no longer kept. Choose a newer interval, or give them as CSV.',
        ]
      : (status === 400 || status === 422) && kind === 'csv' && errors.some((e) => e.pointer)
        ? ['The CSV cannot be read', 'These rows break the rules; nothing was planned.']
        : status === 400 || status === 422
          ? [
              'The question was refused',
              errors.length > 0 ? 'What it asks for is not allowed; nothing was planned.' : detail,
            ]
          : [title, detail]
  return new Problem({ status, title: said[0], detail: said[1], code, errors, request_id: requestID })
}

/**
 * @param {object} props
 * @param {Run} props.run
 * @param {Asked | null} props.asked
 * @param {Source | null} props.source
 * @param {string} props.wrong
 * @param {boolean} props.untouched
 * @param {{ words: string }} props.total
 * @param {() => void} props.start
 */
function Bar({ run, asked, source, wrong, untouched, total, start }) {
  const [curl, setCurl] = useState(false)
  const text = asked && commandOf(asked, source?.name)
  const busy = run.state === 'running'
  useEffect(() => {
    if (run.state === 'done' && run.answer && run.took)
      announce(`${counted(run.answer.results.length, 'plan')} in ${duration(run.took)}.`)
  }, [run.answer])
  return html`<div class="row card whatif-bar">
    <p class="whatif-total" role="status">
      ${wrong ? html`<span class=${untouched ? 'muted' : 'toned bad'}>${wrong}</span>` : `${total.words}, at most 256`}
    </p>
    <div class="row whatif-buttons">
      ${busy && html`<${Elapsed} since=${run.since} /><button type="button" onClick=${run.cancel}>Cancel</button>`}
      ${
        asked &&
        html`
          <button type="button" aria-expanded=${curl} onClick=${() => setCurl(!curl)}>Show as curl</button>
          <${CopyButton} text=${text} label="Copy as curl" />
          <${CopyButton} text=${() => location.href} label="Copy link" />
        `
      }
      <button
        type="button"
        class="primary"
        disabled=${!asked}
        aria-disabled=${busy}
        onClick=${busy ? undefined : start}
      >
        ${busy ? 'Running…' : 'Run'}
      </button>
    </div>
    ${curl && text && html`<div class="whatif-curl"><${Code} text=${text} label="The same by curl" /></div>`}
  </div>`
}

/**
 * How long it has been running.
 *
 * @param {{ since: number }} props
 */
function Elapsed({ since }) {
  const now = useNow(200)
  return html`
    <progress aria-label="Planning"></progress>
    <span class="muted">${duration(Math.max(0, Math.round((now - since) / 100) * 100))}</span>
  `
}
