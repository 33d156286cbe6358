// What views are written with: Preact by tagged templates.

import { h } from 'preact'
import htm from 'htm'

export { Fragment, render } from 'preact'
export { useCallback, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'

export const html = htm.bind(h)
