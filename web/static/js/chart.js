// Charts, drawn by Apache ECharts in the colours of the page, each with its data as a
// table for those who do not see it.

import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import { html } from './html.js'
import { PlainTable } from './parts.js'
import { colour, onTheme } from './theme.js'

const still = matchMedia('(prefers-reduced-motion: reduce)')
let library

/** ECharts, loaded when the first chart is drawn. */
const echarts = () => (library ??= import('echarts').catch((error) => {
  library = undefined // it may be there another time
  throw error
}))

/** The colours and defaults that options are made with. */
function palette() {
  const names = ['text', 'muted', 'line', 'surface', 'accent', 'before', 'after', 'good', 'warn', 'bad']
  return { ...Object.fromEntries(names.map((name) => [name, colour(name)])), series: Array.from({ length: 10 }, (_, i) => colour(`series-${i}`)) }
}

const base = (p) => ({
  animation: !still.matches, animationDuration: 250, animationDurationUpdate: 250, color: p.series, backgroundColor: 'transparent',
  textStyle: { color: p.text, fontFamily: 'system-ui, sans-serif', fontSize: 12 },
  // Tooltips are drawn, as the page's policy allows no style within HTML.
  tooltip: { renderMode: 'richText', backgroundColor: p.surface, borderColor: p.line, textStyle: { color: p.text, fontSize: 12 }, confine: true },
  legend: { textStyle: { color: p.text }, inactiveColor: p.muted, icon: 'roundRect', itemWidth: 12, itemHeight: 8 },
})

/** An axis in the colours of the page; more is what ECharts takes for one. */
export const axis = (p, more = {}) => ({
  axisLine: { lineStyle: { color: p.line } }, axisTick: { show: false },
  splitLine: { lineStyle: { color: p.line, opacity: 0.6 } }, nameTextStyle: { color: p.muted }, ...more,
  axisLabel: { color: p.muted, hideOverlap: true, ...more.axisLabel },
})

/**
 * A chart. option(palette, width) gives what ECharts takes; label says in a sentence
 * what it shows; data, {columns, rows} of a PlainTable, the same as a table. on are
 * handlers by the name of ECharts' events. depends says when option gives something else.
 * handle is a ref that holds the chart of ECharts while there is one.
 *
 * onPick is called with the place on the x axis that was clicked, by its index, and the
 * item of the data if it was one. Charts of the same group share cursor and zoom.
 */
export function Chart({ option, label, height = 260, data, on = {}, onPick, group, handle, depends = [], caption }) {
  const place = useRef(null)
  const chart = useRef(null)
  const handlers = useRef(on)
  handlers.current = on
  const picked = useRef(onPick)
  picked.current = onPick
  const [ready, setReady] = useState(false)
  const [failed, setFailed] = useState(false)
  const [tries, again] = useReducer((n) => n + 1, 0)

  useLayoutEffect(() => {
    let gone = false
    let resized
    echarts().then(({ init, connect }) => {
      if (gone) return
      setFailed(false)
      chart.current = init(place.current, null, { renderer: 'canvas' })
      if (group) {
        chart.current.group = group
        connect(group)
      }
      if (onPick) pickable(chart.current, picked)
      if (handle) handle.current = chart.current
      for (const name of Object.keys(handlers.current)) chart.current.on(name, (event) => handlers.current[name]?.(event))
      resized = new ResizeObserver(() => {
        if (place.current.clientWidth !== chart.current.getWidth() || place.current.clientHeight !== chart.current.getHeight()) setReady({})
      })
      resized.observe(place.current)
      setReady({})
    }, () => !gone && setFailed(true))
    const unthemed = onTheme(() => setReady({}))
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
    chart.current.setOption({ ...common, ...own, tooltip: own.tooltip ? { ...common.tooltip, ...own.tooltip } : { show: false }, legend: own.legend ? { ...common.legend, ...own.legend } : undefined }, true)
  }, [ready, ...depends])

  return html`<figure class="chart">
    ${caption && html`<figcaption>${caption}</figcaption>`}
    <div ref=${place} class="chart-place" style=${{ height: `${height}px` }} role="img" aria-label=${label}></div>
    ${failed && html`<p class="stale">The chart could not be loaded${data && '; its data is below'}. <button type="button" onClick=${again}>Try again</button></p>`}
    ${data && html`<details class="chart-data"><summary>Data as a table</summary><${Later} render=${() => html`<${PlainTable} caption=${label} ...${data} />`} /></details>`}
  </figure>`
}

/** Makes the whole plot answer to a click, not only the few pixels of its points. */
function pickable(chart, picked) {
  const plot = chart.getZr()
  const within = (e) => chart.containPixel('grid', [e.offsetX, e.offsetY])
  plot.on('mousemove', (e) => within(e) && plot.setCursorStyle('pointer'))
  plot.on('click', (e) => !e.target && within(e) && picked.current(Math.round(chart.convertFromPixel({ gridIndex: 0 }, [e.offsetX, e.offsetY])[0])))
  chart.on('click', { componentType: 'series' }, (e) => picked.current(Array.isArray(e.value) ? e.value[0] : e.dataIndex, e.data))
}

/** Renders what is within closed details only once they are opened. */
function Later({ render }) {
  const mark = useRef(null)
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const details = mark.current.closest('details')
    const toggled = () => setOpen(details.open)
    details.addEventListener('toggle', toggled)
    return () => details.removeEventListener('toggle', toggled)
  }, [])
  return html`<div ref=${mark}>${open && render()}</div>`
}

/** A line without axes, of the last values; null where there is none. bound is drawn dashed. */
export function Sparkline({ values, bound, label, format }) {
  return html`<${Chart} height=${36} label=${label} depends=${[JSON.stringify(values), bound]} option=${(p) => ({
    grid: { left: 2, right: 2, top: 3, bottom: 3 },
    xAxis: { type: 'category', show: false, data: values.map((_, i) => i), boundaryGap: false },
    yAxis: { type: 'value', show: false, min: 0, max: (v) => Math.max(v.max, bound ?? 0) * 1.05 || 1 },
    tooltip: format && { trigger: 'axis', formatter: ([point]) => format(point.dataIndex) },
    series: [{
      type: 'line', data: values, showSymbol: values.length === 1, symbolSize: 5, lineStyle: { width: 1.5 }, areaStyle: { opacity: 0.12 }, color: p.accent, connectNulls: true,
      markLine: bound === undefined ? undefined : { silent: true, symbol: 'none', label: { show: false }, lineStyle: { color: p.muted, type: 'dashed', width: 1 }, data: [{ yAxis: bound }] },
    }],
  })} />`
}
