package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
)

// million measures one request: a whole interval in, a stored plan out; with several
// numbers of keys, how time and memory grow with them.
type million struct {
	keys                []int
	instances, runs     int
	limit               int64
	formats, encodings  []string
	stores, storeInputs []string
	fluctuation         float64
}

// The targets.
const (
	mostOfGoccy   = 1.5 // JSON rows, of goccy's time for decoding them
	mostOfRows    = 0.4 // Arrow, of the time of JSON rows
	mostOfColumns = 3   // peak memory, of the decoded columns
	mostGrowth    = 1.2 // time per key, of that of the first number of keys
)

func (m *million) flags(f *flag.FlagSet) {
	countsVar(f, &m.keys, "keys", []int{1e6}, "keys of each interval; with several, bodies come from files")
	countVar(f, &m.instances, "instances", 1, 40, "instances of the operator")
	countVar(f, &m.runs, "runs", 1, 7, "intervals posted in each configuration")
	choiceVar(f, &m.formats, "formats", "json_rows,json_columns,ndjson,csv,arrow", formats, "formats")
	choiceVar(f, &m.encodings, "encodings", "identity,gzip,zstd", encodings, "content encodings")
	choiceVar(f, &m.stores, "stores", "sqlite,postgres", stores, "stores")
	choiceVar(f, &m.storeInputs, "store-inputs", "", []string{"true", "false"},
		"values of the operator's store_inputs; by default it is not sent")
	sizeVar(f, &m.limit, "limit",
		"memory that the server gets, such as 8GiB: address space where prlimit is installed, and the Go runtime's own "+
			"limit (default none)")
	f.Float64Var(&m.fluctuation, "fluctuation", 1,
		"how much the load of some instance changes between intervals, of the mean load")
}

// measured is a trial with its outcome.
type measured struct {
	trial
	*outcome
}

func (m *million) run(ctx context.Context, b *bench) error {
	var all []measured
	for _, t := range m.trials() {
		o, err := b.try(ctx, t)
		if err != nil {
			return err
		}
		all = append(all, measured{t, o})
	}
	b.printf("One interval on %d instances, plan stored and answered; medians of %d intervals, the first on an empty "+
		"table included. ",
		m.instances, m.runs)
	if m.limit > 0 {
		b.printf("The server's memory is limited to %.2f GiB: %s. ", float64(m.limit)/(1<<30), all[0].bounded)
	}
	b.printf("Receiving and decoding overlap; rest is hashing the input, rendering and sending. ")
	b.printf("Peak is VmHWM of the server less that of the idle one. " +
		"Decoded columns are the bytes of the keys, and for each row 8 to find its key, 8 hash, 8 cost, 8 state, 4 " +
		"instance.\n\n")
	b.printf("%s\n", breakdown(all))
	b.printf("%s", targets(all))
	return nil
}

// trials are all configurations.
func (m *million) trials() (all []trial) {
	inputs := m.storeInputs
	if len(inputs) == 0 {
		inputs = []string{""}
	}
	for _, store := range m.stores {
		for _, stored := range inputs {
			for _, format := range m.formats {
				for _, encoding := range m.encodings {
					for _, keys := range m.keys {
						all = append(all, trial{
							store: store, format: format, encoding: encoding, storeInputs: stored,
							keys: keys, instances: m.instances, runs: m.runs, fluctuation: m.fluctuation,
							limit: m.limit, files: len(m.keys) > 1,
						})
					}
				}
			}
		}
	}
	return all
}

// breakdown is the table of times.
func breakdown(all []measured) *markdown {
	t := &markdown{head: []string{"store", "store_inputs", "format", "encoding", "keys", "sent", "time", "least",
		"receive, decode", "plan", "persist", "rest",
		"decoded MB/s", "ns/key", "peak, first", "peak", "of columns", "≤ " + strconv.Itoa(mostOfColumns)}}
	for _, m := range all {
		median := m.total.median()
		of := ratio(m.growth(), m.columns)
		t.add(m.store, m.inputs(), m.format, m.encoding, short(m.keys), mb(m.length), ms(median), ms(m.total.least()),
			ms(m.decode.median()), ms(m.plan.median()), ms(m.persist.median()), ms(m.rest.median()),
			fmt.Sprintf("%.0f", float64(m.plain)/1e6/median.Seconds()),
			fmt.Sprintf("%.0f", float64(median.Nanoseconds())/float64(m.count)),
			mb(m.first.peak-m.idle.peak), mb(m.growth()), fmt.Sprintf("%.2f", of), yesNo(of <= mostOfColumns))
	}
	return t
}

// targets compares uncompressed JSON rows with the reference, Arrow with them, and each
// number of keys with the first.
func targets(all []measured) *markdown {
	t := &markdown{head: []string{"store", "store_inputs", "what", "against", "ratio", "target", "met"}}
	of := func(like trial) *measured {
		i := slices.IndexFunc(all, func(m measured) bool { return m.trial == like })
		if i < 0 {
			return nil
		}
		return &all[i]
	}
	for _, m := range all {
		compare := func(what, other string, r, most float64) {
			t.add(m.store, m.inputs(), what+", "+ms(m.total.median()), other, fmt.Sprintf("%.2f", r), fmt.Sprintf("≤ %v", most),
				yesNo(r <= most))
		}
		if m.references() {
			compare("JSON rows", "goccy/go-json, decoding alone, "+ms(m.goccy.median())+
				" (encoding/json "+ms(m.encodingJSON.median())+")", ratio(m.total.median(), m.goccy.median()), mostOfGoccy)
		}
		like := m.trial
		like.format = jsonRows
		if rows := of(like); rows != nil && m.format == arrowFormat && m.encoding == identity {
			compare("Arrow", "JSON rows", ratio(m.total.median(), rows.total.median()), mostOfRows)
		}
		like = m.trial
		like.keys = all[0].keys
		if first := of(like); first.keys != m.keys {
			growth := ratio(m.total.median(), first.total.median()) * float64(first.count) / float64(m.count)
			compare(m.format+" of "+short(m.keys)+" keys", "as many times the time of "+short(first.keys), growth, mostGrowth)
		}
	}
	return t
}
