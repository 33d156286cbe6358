// Charts, drawn by Apache ECharts in the colours of the page, each with its data as a
// table for those who do not see it.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { html } from './html.js'
import { plainTable } from './parts.js'
import { colour, onTheme } from './theme.js'
import { useTurns } from './topic.js'

const still = matchMedia('(prefers-reduced-motion: reduce)')
/** @type {Promise<typeof import('echarts')> | undefined} */
let library

/** ECharts, loaded when the first chart is drawn. */
const echarts = () =>
  (library ??= import('echarts').catch((error) => {
    library = undefined // it may be there another time
    throw error
  }))

function palette() {
  const names = [
    'text',
    'muted',
    'line',
    'surface',
    'accent',
    'before',
    'after',
    'realised',
    'bound',
    'good',
    'warn',
    'bad',
  ]
  return /** @type {Palette} */ ({
    ...Object.fromEntries(names.map((name) => [name, colour(name)])),
    series: Array.from({ length: 10 }, (_, i) => colour(`series-${i}`)),
  })
}

/** @param {Palette} p */
const base = (p) => ({
  animation: !still.matches,
  animationDuration: 250,
  animationDurationUpdate: 250,
  color: p.series,
  backgroundColor: 'transparent',
  textStyle: { color: p.text, fontFamily: 'system-ui, sans-serif', fontSize: 12 },
  // Tooltips are drawn, as the page's policy allows no style within HTML.
  tooltip: {
    renderMode: 'richText',
    backgroundColor: p.surface,
    borderColor: p.line,
    textStyle: { color: p.text, fontSize: 12 },
    confine: true,
  },
  legend: { textStyle: { color: p.text }, inactiveColor: p.muted, icon: 'roundRect', itemWidth: 12, itemHeight: 8 },
})

/** How every bound is drawn, in the colour of bounds. */
export const boundLine = { width: 1.5, type: 'dashed' }

/**
 * Bounds across a chart, each at an xAxis or a yAxis, with its name if it has one.
 *
 * @param {Palette} p
 * @param {ChartOption[]} data
 * @param {string} [position] of the names
 */
export const boundMark = (p, data, position = 'insideEndTop') => ({
  silent: true,
  symbol: 'none',
  animation: false,
  precision: -1, // else ECharts draws a bound of 0.025 at 0.03
  lineStyle: { color: p.bound, ...boundLine },
  label: {
    position,
    color: p.text,
    backgroundColor: p.surface,
    padding: [1, 4],
    formatter: (/** @type {{ name: string }} */ { name }) => name,
  },
  data,
})

/**
 * An axis in the colours of the page; more is what ECharts takes for one.
 *
 * @param {Palette} p
 * @param {ChartOption} [more]
 */
export const axis = (p, more = {}) => ({
  axisLine: { lineStyle: { color: p.line } },
  axisTick: { show: false },
  splitLine: { lineStyle: { color: p.line, opacity: 0.6 } },
  nameTextStyle: { color: p.muted },
  ...more,
  axisLabel: { color: p.muted, hideOverlap: true, ...more.axisLabel },
})

/**
 * A tooltip for all that is at a place of the axis of categories, in the words for its index.
 *
 * @param {(index: number) => string} words
 * @param {ChartOption} [axisPointer]
 */
export const tip = (words, axisPointer = { type: 'shadow' }) => ({
  trigger: 'axis',
  axisPointer,
  formatter: (/** @type {{ dataIndex: number }[]} */ [{ dataIndex }]) => words(dataIndex),
})

/**
 * Of points those along the x axis of which each is lower than all before it.
 *
 * @param {number[][]} points
 */
export function descending(points) {
  let least = Infinity
  return points.sort(([a, s], [b, t]) => a - b || s - t).filter(([, y]) => y < least && ((least = y), true))
}

/**
 * A slider that shows a part of an axis; more is what ECharts takes for one.
 *
 * @param {Palette} p
 * @param {ChartOption} more
 */
export const slider = (p, more) => ({
  type: 'slider',
  brushSelect: false,
  showDetail: false,
  borderColor: p.line,
  ...more,
})

/**
 * Of a chart: option gives what ECharts takes; label says in a sentence
 * what it shows; data, {columns, rows} of a plain table, the same as a table. on are
 * handlers by the name of ECharts' events. depends says when option gives something else.
 * handle is a ref that holds the chart of ECharts while there is one.
 *
 * onPick is called with the place on the x axis that was clicked, by its index, and the
 * item of the data if it was one. Charts of the same group share cursor and zoom.
 *
 * @param {object} props
 * @param {(p: Palette, width: number) => ChartOption} props.option
 * @param {string} props.label
 * @param {number} [props.height] in pixels
 * @param {{ columns: (Column | false)[], rows: any[] }} [props.data]
 * @param {Record<string, (event: any) => void>} [props.on]
 * @param {(index: number, item?: any) => void} [props.onPick]
 * @param {string} [props.group]
 * @param {{ current: import('echarts').ECharts | null }} [props.handle]
 * @param {unknown[]} [props.depends]
 */
export function Chart({ option, label, height = 260, data, on = {}, onPick, group, handle, depends = [] }) {
  const [open, setOpen] = useState(false)
  const place = useRef(/** @type {HTMLElement | null} */ (null))
  const chart = useRef(/** @type {import('echarts').ECharts | null} */ (null))
  const handlers = useRef(on)
  handlers.current = on
  const picked = useRef(onPick)
  picked.current = onPick
  const [ready, redraw] = useTurns()
  const [failed, setFailed] = useState(false)
  const [tries, again] = useTurns()

  useLayoutEffect(() => {
    let gone = false
    /** @type {ResizeObserver | undefined} */
    let resized
    echarts().then(
      ({ init, connect }) => {
        const box = place.current
        if (gone || !box) return
        setFailed(false)
        const made = init(box, null, { renderer: 'canvas' })
        chart.current = made
        if (group) {
          made.group = group
          connect(group)
        }
        if (onPick) pickable(made, picked)
        if (handle) handle.current = made
        for (const name of Object.keys(handlers.current)) made.on(name, (event) => handlers.current[name]?.(event))
        resized = new ResizeObserver(() => {
          if (box.clientWidth !== made.getWidth() || box.clientHeight !== made.getHeight()) redraw()
        })
        resized.observe(box)
        redraw()
      },
      () => !gone && setFailed(true),
    )
    const unthemed = onTheme(() => redraw())
    return () => {
      gone = true
      unthemed()
      resized?.disconnect()
      chart.current?.dispose()
      chart.current = null
      if (handle) handle.current = null
    }
  }, [tries])

  useEffect(() => {
    if (!failed) return undefined
    addEventListener('online', again)
    return () => removeEventListener('online', again)
  }, [failed])

  useEffect(() => {
    if (!ready || !chart.current) return
    chart.current.resize()
    const p = palette()
    const common = base(p)
    const own = option(p, chart.current.getWidth())
    chart.current.setOption(
      {
        ...common,
        ...own,
        tooltip: own.tooltip ? { ...common.tooltip, ...own.tooltip } : { show: false },
        legend: own.legend ? { ...common.legend, ...own.legend } : undefined,
      },
      true,
    )
  }, [ready, ...depends])

  return html`<figure class="chart">
    <div ref=${place} class="chart-place" style=${{ height: `${height}px` }} role="img" aria-label=${label}></div>
    ${
      failed &&
      html`<p class="stale">
        The chart could not be loaded${data && '; its data is below'}
        . <button type="button" onClick=${again}>Try again</button>
      </p>`
    }
    ${
      data &&
      html`<details class="chart-data" onToggle=${(e) => setOpen(e.currentTarget.open)}>
        <summary>Data as a table</summary>
        ${open && plainTable(label, data.rows, data.columns)}
      </details>`
    }
  </figure>`
}

/**
 * Makes the whole plot answer to a click, not only the few pixels of its points.
 *
 * @param {import('echarts').ECharts} chart
 * @param {{ current: ((index: number, item?: any) => void) | undefined }} picked
 */
function pickable(chart, picked) {
  const plot = chart.getZr()
  const within = (/** @type {{ offsetX: number, offsetY: number }} */ e) =>
    chart.containPixel('grid', [e.offsetX, e.offsetY])
  plot.on('mousemove', (e) => within(e) && plot.setCursorStyle('pointer'))
  plot.on(
    'click',
    (e) =>
      !e.target &&
      within(e) &&
      picked.current?.(Math.round(chart.convertFromPixel({ gridIndex: 0 }, [e.offsetX, e.offsetY])[0])),
  )
  chart.on('click', { componentType: 'series' }, (e) =>
    picked.current?.(Array.isArray(e.value) ? Number(e.value[0]) : e.dataIndex, e.data),
  )
}
