// The results: filtered, as points and as a table, each a link to its plan.

import { counted } from '../../format.js'
import { html, useCallback, useEffect, useMemo, useRef, useState } from '../../html.js'
import { Card, Empty } from '../../parts.js'
import { here, link, setQuery } from '../../route.js'
import { lower, strategyTitle } from '../../strategies.js'
import { nameOf } from './ask.js'
import { differences, keeps, measures, settings, settingText, strategiesIn, titleOf, verdict } from './figures.js'
import { Plot, pointAt } from './plot.js'

/** @import { Answer, Result } from './ask.js' */

/** @param {Result} result */
const opened = (result) => link(['what-if'], { ...here().query, open: nameOf(result) })

/**
 * What is shown of the results.
 *
 * @param {Result[]} results
 * @param {Query} query
 */
function filtered(results, query) {
  const show = query.show?.split(',')
  return results.filter((r) => (show?.includes(r.strategy) ?? true) && (query.pareto !== '1' || r.pareto))
}

/** @param {{ results: Result[], query: Query }} props */
function Filters({ results, query }) {
  const all = strategiesIn(results)
  const show = query.show?.split(',') ?? all
  /**
   * @param {string} name
   * @param {boolean} on
   */
  const turn = (name, on) => {
    const now = all.filter((s) => (s === name ? on : show.includes(s)))
    setQuery({ show: now.length === all.length ? null : now.join() || 'none' })
  }
  return html`<fieldset class="whatif-filters">
    <legend class="visually-hidden">Shown results</legend>
    ${
      all.length > 1 &&
      all.map(
        (s) =>
          html`<label class="check" key=${s}>
            <input type="checkbox" checked=${show.includes(s)} onChange=${(e) => turn(s, e.currentTarget.checked)} />
            ${strategyTitle(s)}
          </label>`,
      )
    }
    <label class="check">
      <input
        type="checkbox"
        checked=${query.pareto === '1'}
        onChange=${(e) => setQuery({ pareto: e.currentTarget.checked ? '1' : null })}
      />
      Pareto front only
    </label>
  </fieldset>`
}

/** @type {Record<string, (r: Result) => string | number>} */
const order = {
  strategy: (r) => strategyTitle(r.strategy),
  pareto: (r) => (r.pareto ? 0 : 1),
  limits: (r) => verdict(r),
}

/**
 * What a column sorts by.
 *
 * @param {string} by
 * @returns {(r: Result) => any}
 */
const sortValue = (by) =>
  order[by] ??
  (measures[by]
    ? measures[by].of
    : (r) => {
        const setting = settings()[by]
        return setting?.words ? setting.of(r.parameters) : amountOf(setting?.of(r.parameters))
      })

/**
 * Of parameters that are no numbers: none is above all, limits are by their amount.
 *
 * @param {any} value
 */
const amountOf = (value) => (value === null ? Infinity : typeof value === 'object' ? Object.values(value)[0] : value)

/**
 * @param {Result[]} results
 * @param {string} by
 * @param {string | undefined} direction
 */
function sorted(results, by, direction) {
  const of = sortValue(by)
  const sign = direction === 'desc' ? -1 : 1
  return [...results].sort((a, b) => {
    const [x, y] = [of(a), of(b)]
    if (x === null || y === null) return Number(x === null) - Number(y === null) // what is not known stands last
    return sign * (x < y ? -1 : x > y ? 1 : 0)
  })
}

/**
 * @param {string[]} differ
 * @returns {{ id: string, head: string, number?: boolean, of: (r: Result) => Children }[]}
 */
const columnsOf = (differ) => [
  { id: 'strategy', head: 'Strategy', of: (r) => strategyTitle(r.strategy) },
  ...differ.map((name) => ({
    id: name,
    head: settings()[name].head,
    number: !settings()[name].words,
    of: (/** @type {Result} */ r) => settingText(name, r),
  })),
  ...Object.entries(measures).map(([id, { head, of, cell }]) => ({
    id,
    head,
    number: true,
    of: (/** @type {Result} */ r) => cell(of(r)),
  })),
  {
    id: 'limits',
    head: 'Limits',
    of: (r) => html`<span class=${keeps(r) ? 'muted' : 'whatif-broken'}>${verdict(r)}</span>`,
  },
]

/**
 * The head of a column. An opened plan has tables of its own, which are sorted by other names.
 *
 * @param {{ column: { id: string, head: string, number?: boolean }, by: string | null, direction?: string }} props
 */
function Head({ column: c, by, direction }) {
  const sortedBy = by === c.id
  return html`<th
    scope="col"
    class=${c.number ? 'number' : ''}
    aria-sort=${sortedBy ? (direction === 'desc' ? 'descending' : 'ascending') : 'none'}
  >
    <button
      type="button"
      class="sort"
      onClick=${() => setQuery({ rank: c.id, ranked: sortedBy && direction !== 'desc' ? 'desc' : null })}
    >
      ${c.head}
      <span aria-hidden="true" class="arrow">${sortedBy ? (direction === 'desc' ? '▼' : '▲') : ''}</span>
    </button>
  </th>`
}

/**
 * @param {object} props
 * @param {Result[]} props.results
 * @param {string[]} props.differ
 * @param {Query} props.query
 * @param {Result | null} props.pointed
 * @param {(result: Result | null) => void} props.onHover
 * @param {Map<string, HTMLElement>} props.rows
 */
function Table({ results, differ, query, pointed, onHover, rows }) {
  const columns = columnsOf(differ)
  const by = [...columns.map((c) => c.id), 'pareto'].find((id) => id === query.rank) ?? null
  const list = by ? sorted(results, by, query.ranked) : results
  return html`<div class="table-scroll whatif-scroll" tabindex="0" role="region" aria-label="Table of results">
    <table class="whatif-table">
      <caption class="visually-hidden">Results, one for each combination of strategy and parameters</caption>
      <thead>
        <tr>
          <${Head} column=${{ id: 'pareto', head: 'Pareto' }} by=${by} direction=${query.ranked} />
          ${columns.map((c) => html`<${Head} column=${c} by=${by} direction=${query.ranked} key=${c.id} />`)}
        </tr>
      </thead>
      <tbody onMouseLeave=${() => onHover(null)}>
        ${list.map((r) => {
          const name = nameOf(r)
          return html`<tr
            key=${name}
            ref=${(row) => (row ? rows.set(name, row) : rows.delete(name))}
            class="${r === pointed ? 'whatif-pointed' : ''} ${query.open === name ? 'whatif-opened' : ''}"
            onMouseEnter=${() => onHover(r)}
            onFocusIn=${() => onHover(r)}
            onFocusOut=${() => onHover(null)}
          >
            <td class="whatif-pareto">
              ${r.pareto && html`<span aria-hidden="true">●</span><span class="visually-hidden">on the front</span>`}
            </td>
            <td class="nowrap">
              <a
                href=${opened(r)}
                aria-current=${query.open === name ? 'true' : undefined}
                aria-label="Open ${titleOf(r, differ)}"
              >
                ${strategyTitle(r.strategy)}
              </a>
            </td>
            ${columns
              .slice(1)
              .map((c) => html`<td class=${c.number ? 'number nowrap' : 'nowrap'} key=${c.id}>${c.of(r)}</td>`)}
          </tr>`
        })}
      </tbody>
    </table>
  </div>`
}

/**
 * All results of an answer.
 *
 * @param {{ answer: Answer, query: Query }} props
 */
export function Results({ answer, query }) {
  const { results } = answer
  const shown = useMemo(() => filtered(results, query), [results, query.show, query.pareto])
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
              <p><button type="button" onClick=${() => setQuery({ show: null, pareto: null })}>Show all</button></p>
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
            : `${shown.length} of ${counted(results.length, 'plan')}`
        }
      >
        ${
          same.length > 0 &&
          html`<p class="muted">
            The same in
            all: ${same.map((name) => `${lower(settings()[name].head)} ${settingText(name, results[0])}`).join(', ')}.
          </p>`
        }
        <${Table}
          results=${shown}
          differ=${differ}
          query=${query}
          pointed=${pointed}
          onHover=${fromTable}
          rows=${rows}
        />
      <//>`
    }
  `
}
