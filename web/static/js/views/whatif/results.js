// The results: filtered, as points and as a table, each a link to its plan.

import { count, counted } from '../../format.js'
import { html, useCallback, useEffect, useMemo, useRef, useState } from '../../html.js'
import { Card, check, Checks, Empty, paretoMark, sortedTable } from '../../parts.js'
import { here, link, setQuery } from '../../route.js'
import { lower, strategyTitle } from '../../strategies.js'
import { nameOf } from './ask.js'
import {
  differences,
  isPlan,
  keeps,
  measuresOf,
  merged,
  settings,
  settingText,
  strategiesIn,
  titleOf,
  verdict,
} from './figures.js'
import { Plot, pointAt } from './plot.js'

/** @import { Answer, Result, Source } from './ask.js' */

/** @param {Result} result */
const opened = (result) => link(['what-if'], { ...here().query, open: nameOf(result) })

/**
 * What is shown of the results, with those of the same outcome.
 *
 * @param {Result[]} results
 * @param {Query} query
 */
function filtered(results, query) {
  const show = query.show?.split(',')
  const typed = parseFloat((query.theta_most ?? '').replace(',', '.'))
  const most = Number.isNaN(typed) ? Infinity : typed / 100 + 1e-9
  const kept = results.filter(
    (r) => (show?.includes(r.strategy) ?? true) && (query.pareto !== '1' || r.pareto) && r.theta.after <= most,
  )
  /** @type {Map<Result, Result[]>} */
  const apart = new Map(kept.map((r) => [r, []]))
  return query.equal === '1' ? apart : merged(kept)
}

/** What shows all results. */
const everything = { show: null, pareto: null, theta_most: null }

/** @param {{ results: Result[], query: Query }} props */
function Filters({ results, query }) {
  const all = strategiesIn(results)
  const show = query.show?.split(',') ?? all
  /** @param {string[]} now */
  const choose = (now) => setQuery({ show: now.length === all.length ? null : now.join() || 'none' })
  return html`<fieldset class="row whatif-filters">
    <legend class="visually-hidden">Shown results</legend>
    ${
      all.length > 1 &&
      html`<${Checks} of=${all.map((s) => [s, strategyTitle(s)])} chosen=${show} onChange=${choose} />`
    }
    ${check(query.pareto === '1', (on) => setQuery({ pareto: on ? '1' : null }), 'Pareto front only')}
    ${check(query.equal !== '1', (on) => setQuery({ equal: on ? null : '1' }), 'Equal outcomes as one')}
    <label class="whatif-most">
      θ at most${' '}
      <input
        type="text"
        inputmode="decimal"
        size="5"
        value=${query.theta_most ?? ''}
        onInput=${(e) => setQuery({ theta_most: e.currentTarget.value })}
      />
      ${' '}%
    </label>
  </fieldset>`
}

/**
 * Of parameters that are no numbers: none is above all, limits are by their amount.
 *
 * @param {any} value
 */
const amountOf = (value) => (value === null ? Infinity : typeof value === 'object' ? Object.values(value)[0] : value)

/**
 * @param {object} props
 * @param {Result[]} props.results
 * @param {string[]} props.differ
 * @param {Query} props.query
 * @param {Result | null} props.pointed
 * @param {(result: Result | null) => void} props.onHover
 * @param {Map<string, HTMLElement>} props.rows
 * @param {Map<Result, Result[]>} props.equal those of the same outcome
 * @param {Plan | null} props.plan as it was made
 */
function resultsTable({ results, differ, query, pointed, onHover, rows, equal, plan }) {
  /** @type {Sortable<Result>[]} */
  const columns = [
    {
      id: 'pareto',
      head: 'Pareto',
      of: (r) => (r.pareto ? 0 : 1),
      show: (r) => r.pareto && paretoMark('on the front'),
      kind: 'whatif-pareto',
    },
    {
      id: 'strategy',
      head: 'Strategy',
      of: (r) => strategyTitle(r.strategy),
      show: (r) => html`
        <a
          href=${opened(r)}
          aria-current=${query.open === nameOf(r) ? 'true' : undefined}
          aria-label="Open ${titleOf(r, differ)}"
        >
          ${strategyTitle(r.strategy)}
        </a>
        <${Tags} of=${[r, ...(equal.get(r) ?? [])]} differ=${differ} plan=${plan} />
      `,
      kind: 'nowrap',
    },
    ...differ.map((name) => {
      const { head, words, of, text } = settings()[name]
      return {
        id: name,
        head,
        of: (/** @type {Result} */ r) => (words ? of(r.parameters) : amountOf(of(r.parameters))),
        show: (/** @type {Result} */ r) => text(of(r.parameters)),
        kind: words ? 'nowrap' : 'number nowrap',
      }
    }),
    ...Object.entries(measuresOf(results)).map(([id, measure]) => ({ id, ...measure })),
    {
      id: 'limits',
      head: 'Limits',
      of: verdict,
      show: (r) => html`<span class=${keeps(r) ? 'muted' : 'toned warn'}>${verdict(r)}</span>`,
      kind: 'nowrap',
    },
  ]
  return sortedTable('Results, one for each combination of strategy and parameters', results, columns, query, {
    frame: { class: 'whatif-table', onMouseLeave: () => onHover(null) },
    row: (r) => {
      const name = nameOf(r)
      return {
        key: name,
        ref: (/** @type {HTMLElement | null} */ row) => (row ? rows.set(name, row) : rows.delete(name)),
        class: `${r === pointed ? 'whatif-pointed' : ''} ${query.open === name ? 'whatif-opened' : ''}`,
        onMouseEnter: () => onHover(r),
        onFocusIn: () => onHover(r),
        onFocusOut: () => onHover(null),
      }
    },
  })
}

/**
 * What is to be said of the results of one outcome.
 *
 * @param {{ of: Result[], differ: string[], plan: Plan | null }} props
 */
function Tags({ of: [first, ...others], differ, plan }) {
  const own = plan !== null && [first, ...others].some((r) => isPlan(r, plan))
  return html`
    ${own && html`<span class="whatif-own" title="This is the plan of the interval as it was made">as it is</span>`}
    ${
      others.length > 0 &&
      html`<span class="muted" title=${others.map((r) => titleOf(r, differ)).join('\n')}>
        ${' '}and ${count(others.length)} equal
      </span>`
    }
  `
}

/**
 * All results of an answer. source is what they were planned on.
 *
 * @param {{ answer: Answer, source: Source | null, query: Query }} props
 */
export function Results({ answer, source, query }) {
  const { results } = answer
  const plan = source?.kind === 'interval' ? source.plan : null
  const equal = useMemo(
    () => filtered(results, query),
    [results, query.show, query.pareto, query.equal, query.theta_most],
  )
  const shown = useMemo(() => [...equal.keys()], [equal])
  const { differ, same } = useMemo(() => differences(results), [results])
  const [pointed, point] = useState(/** @type {Result | null} */ (null))
  const chart = useRef(/** @type {import('echarts').ECharts | null} */ (null))
  const rows = useRef(/** @type {Map<string, HTMLElement>} */ (new Map())).current

  const fromTable = useCallback(
    (/** @type {Result | null} */ r) => {
      point(r)
      pointAt(chart.current, shown, r, query)
    },
    [shown, query.x, query.y, query.colour],
  )
  /** @param {Result | null} r */
  const fromChart = (r) => {
    point(r)
    const row = r && rows.get(nameOf(r))
    const box = row?.closest('.table-scroll')
    if (row && box) box.scrollTop = row.offsetTop - box.clientHeight / 2
  }
  /** @param {Result} r */
  const open = (r) => {
    location.hash = opened(r)
  }
  useEffect(() => point(null), [results])

  return html`
    <${Card} title="Trade-off" aside=${html`<${Filters} results=${results} query=${query} />`}>
      ${
        shown.length === 0
          ? html`<${Empty} title="No result is shown">
              <p><button type="button" onClick=${() => setQuery(everything)}>Show all</button></p>
            <//>`
          : html`<${Plot} results=${shown} query=${query} handle=${chart} onHover=${fromChart} onOpen=${open} />`
      }
    <//>
    ${
      shown.length > 0 &&
      html`<${Card}
        title="Results"
        aside=${
          shown.length === results.length
            ? counted(results.length, 'plan')
            : `${shown.length} of ${counted(results.length, 'plan')} shown`
        }
      >
        ${
          same.length > 0 &&
          html`<p class="muted">
            The same in
            all: ${same.map((name) => `${lower(settings()[name].head)} ${settingText(name, results[0])}`).join(', ')}.
          </p>`
        }
        ${resultsTable({ results: shown, differ, query, pointed, onHover: fromTable, rows, equal, plan })}
      <//>`
    }
  `
}
