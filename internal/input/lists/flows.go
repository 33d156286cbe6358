package lists

import "strconv"

// Flow is what a plan moves from one instance to another.
type Flow struct {
	From, To    int32 // ids of instances
	Keys        int64
	Cost, State float64 // of all these keys
}

func (Flow) key() []byte       { return nil }
func (Flow) csvHeader() string { return "from,to,keys,cost,state\n" }

// AppendJSON appends {"from": …, "to": …, "keys": …, "cost": …, "state": …}; see
// [Record].
func (f Flow) AppendJSON(dst []byte, _ bool) []byte {
	dst = strconv.AppendInt(append(dst, `{"from":`...), int64(f.From), 10)
	dst = strconv.AppendInt(append(dst, `,"to":`...), int64(f.To), 10)
	dst = strconv.AppendInt(append(dst, `,"keys":`...), f.Keys, 10)
	dst = appendNumber(append(dst, `,"cost":`...), f.Cost)
	dst = appendNumber(append(dst, `,"state":`...), f.State)
	return append(dst, '}')
}

// AppendCSV appends from, to, keys, cost and state; see [Record].
func (f Flow) AppendCSV(dst []byte, _ bool) []byte {
	dst = append(strconv.AppendInt(dst, int64(f.From), 10), ',')
	dst = append(strconv.AppendInt(dst, int64(f.To), 10), ',')
	dst = append(strconv.AppendInt(dst, f.Keys, 10), ',')
	dst = append(appendNumber(dst, f.Cost), ',')
	return append(appendNumber(dst, f.State), '\n')
}
