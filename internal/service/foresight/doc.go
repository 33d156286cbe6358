// Package foresight says what the intervals so far let expect of the next one, and by which policy
// plans are made: forecasts, the choice of policies in the background, backtests, advice, and how
// intervals went. It never asks whether a plan is carried out, and stores nothing.
package foresight
