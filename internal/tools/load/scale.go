package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
)

// scale measures how time and memory grow with the keys.
type scale struct {
	keys            []int
	instances, runs int
	formats, stores []string
	limit           int64
	budget          string
	storeInputs     string
	fluctuation     float64
}

// mostGrowth is the target: so many times the time of the first number of keys,
// for ten times as many.
const mostGrowth = 1.2

func (s *scale) flags(f *flag.FlagSet) {
	countsVar(f, &s.keys, "keys", []int{1e6, 1e7}, "numbers of keys, each compared with the first")
	countVar(f, &s.instances, "instances", 1, 40, "instances of the operator")
	countVar(f, &s.runs, "runs", 1, 3, "intervals posted in each configuration")
	choiceVar(f, &s.formats, "formats", "json_rows,csv,arrow", formats, "formats")
	choiceVar(f, &s.stores, "stores", "sqlite", stores, "stores")
	sizeVar(f, &s.limit, "limit", "memory that the server gets, such as 8GiB: address space where prlimit is installed, and the Go runtime's own limit (default none)")
	f.StringVar(&s.budget, "memory-budget", "", "of plannerd serve (default its own)")
	f.Func("store-inputs", "true or false, of the operator (default: not sent)", func(text string) error {
		stored, err := strconv.ParseBool(text)
		s.storeInputs = strconv.FormatBool(stored)
		return err
	})
	f.Float64Var(&s.fluctuation, "fluctuation", 1, "how much the load of some instance changes between intervals, of the mean load")
}

func (s *scale) run(ctx context.Context, b *bench) error {
	if s.budget != "" {
		b.arguments = append(b.arguments, "--memory-budget="+s.budget)
	}
	t := &markdown{head: []string{"store", "format", "keys", "sent", "time", "least", "receive, decode", "plan", "persist", "rest",
		"ns/key", "peak", "of columns", "time, of the first", "of the keys'", fmt.Sprintf("≤ %v", mostGrowth)}}
	bounded := ""
	for _, store := range s.stores {
		for _, format := range s.formats {
			var first *outcome
			for _, keys := range s.keys {
				o, err := b.try(ctx, trial{
					store: store, format: format, encoding: identity, storeInputs: s.storeInputs,
					keys: keys, instances: s.instances, runs: s.runs, fluctuation: s.fluctuation, limit: s.limit, files: true,
				})
				if err != nil {
					return err
				}
				if first == nil {
					first = o
				}
				bounded = o.bounded
				t.add(append([]string{store, format}, s.row(o, first)...)...)
			}
		}
	}
	b.printf("Whole intervals from a file, one at a time, medians of %d; peak is VmHWM of the server less that of the idle one. ", s.runs)
	if s.limit > 0 {
		b.printf("The server's memory is limited to %.2f GiB: %s. ", float64(s.limit)/(1<<30), bounded)
	}
	b.printf("\n\n%s", t)
	return nil
}

// row is a line of the table, beside the outcome that it is compared with.
func (s *scale) row(o, first *outcome) []string {
	times, keys := ratio(o.total.median(), first.total.median()), float64(o.count)/float64(first.count)
	growth, met := "", ""
	if o != first {
		growth, met = fmt.Sprintf("%.2f", times/keys), yesNo(times <= mostGrowth*keys)
	}
	median := o.total.median()
	return []string{short(o.count), mb(o.length), ms(median), ms(o.total.least()),
		ms(o.decode.median()), ms(o.plan.median()), ms(o.persist.median()), ms(o.rest.median()),
		fmt.Sprintf("%.0f", float64(median.Nanoseconds())/float64(o.count)),
		mb(o.growth()), fmt.Sprintf("%.2f", ratio(o.growth(), o.columns)),
		fmt.Sprintf("%.2f", times), growth, met}
}
