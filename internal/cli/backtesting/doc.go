// Package backtesting has the command that runs policies over recorded intervals and shows
// what they came to. It decides nothing: what a policy came to is for internal/backtest to find.
package backtesting
