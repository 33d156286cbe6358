package collecting

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// sampleAtOnce is of how many keys the size is asked for at once.
const sampleAtOnce = 500

// takeSample adds what a sample of a node's keys says of its slots. If there are few keys, all are
// taken; else any of them, each of which stands for as many as there are for each in the sample.
func (c *Redis) takeSample(r *resp, node string, l *look) error {
	factor, byUse, err := useFactor(r)
	if err != nil {
		return err
	}
	size, err := r.one("DBSIZE")
	if err != nil {
		return err
	}
	count, _ := size.(int64)
	whole := (c.Sample + sampleAtOnce - 1) / sampleAtOnce * sampleAtOnce
	weight := max(1, float64(count)/float64(whole))
	l.partial = l.partial || weight > 1
	for cursor, taken := "0", 0; taken == 0 || weight > 1 && taken < whole || weight == 1 && cursor != "0"; {
		var names []string
		if weight > 1 {
			names, err = anyKeys(r)
		} else {
			names, cursor, err = nextKeys(r, cursor)
		}
		if err == nil {
			err = measure(r, names, weight, byUse, factor, node, l)
		}
		if err != nil {
			return err
		}
		taken += sampleAtOnce
	}
	what := "each key counts 1, as nothing tells how often it is used"
	if byUse {
		what = "a key counts as often as it was used, by its OBJECT FREQ, which forgets with time"
	}
	l.assumed = fmt.Sprintf("there are no statistics of slots, so a sample of about %d keys of each node is taken: %s; "+
		"the state is the memory of keys", c.Sample, what)
	return nil
}

// anyKeys are some of a node's keys, drawn evenly.
func anyKeys(r *resp) (names []string, err error) {
	answers, err := r.all(slices.Repeat([][]string{{"RANDOMKEY"}}, sampleAtOnce))
	return texts(answers), err
}

// nextKeys are keys behind a cursor, and the next one; "0": there are no more.
func nextKeys(r *resp, cursor string) (names []string, next string, err error) {
	answer, err := r.one("SCAN", cursor, "COUNT", strconv.Itoa(sampleAtOnce))
	cells, _ := answer.([]any)
	if err != nil || len(cells) != 2 {
		return nil, "", cmp.Or(err, errRESP)
	}
	next, _ = cells[0].(string)
	return texts(cells[1]), next, nil
}

// useFactor tells how the counters of OBJECT FREQ grow, and whether keys have them.
func useFactor(r *resp) (factor float64, byUse bool, err error) {
	answers, err := r.all([][]string{{"CONFIG", "GET", "maxmemory-policy"}, {"CONFIG", "GET", "lfu-log-factor"}})
	if err != nil {
		return 0, false, err
	}
	factor = 10
	for _, answer := range answers { // where CONFIG is forbidden, there are errors
		cells, _ := answer.([]any)
		if len(cells) != 2 {
			continue
		}
		text, _ := cells[1].(string)
		if strings.HasSuffix(text, "-lfu") {
			byUse = true
		} else if x, err := strconv.ParseFloat(text, 64); err == nil {
			factor = x
		}
	}
	return factor, byUse, nil
}

// uses is how often a key was used whose counter of uses has a value: it begins with 5, and grows
// from 5 + n with the probability of 1 / (n · factor + 1).
func uses(counter, factor float64) float64 {
	n := max(0, counter-5)
	return n + factor*n*(n-1)/2
}

// measure adds keys to their slots: their memory, and how often they were used.
func measure(
	r *resp, names []string, weight float64, byUse bool, factor float64, node string, l *look,
) error {
	var commands [][]string
	for _, name := range names {
		commands = append(commands, []string{"MEMORY", "USAGE", name})
		if byUse {
			commands = append(commands, []string{"OBJECT", "FREQ", name})
		}
	}
	answers, err := r.all(commands)
	if err != nil {
		return err
	}
	for i, answer := range answers {
		command := commands[i]
		if refused, is := answer.(respError); is && strings.HasPrefix(string(refused), "NOPERM") {
			return fmt.Errorf("%s %s: %w", command[0], command[1], refused)
		}
		x, there := answer.(int64)
		if !there {
			continue // a key that is gone
		}
		key := strconv.Itoa(keySlot(command[2]))
		s := l.keys[key]
		s.instance = node
		if command[0] == "OBJECT" {
			s.cost += weight * uses(float64(x), factor)
		} else {
			s.state += weight * float64(x)
			if !byUse {
				s.cost += weight
			}
		}
		l.keys[key] = s
	}
	return nil
}

// texts are the texts of a list.
func texts(list any) (out []string) {
	cells, _ := list.([]any)
	for _, cell := range cells {
		if text, is := cell.(string); is {
			out = append(out, text)
		}
	}
	return out
}

// keySlot is the slot of a key: the CRC16 of XMODEM of all its bytes, or of what is between the first
// braces, modulo the number of slots (Redis Cluster Specification).
func keySlot(key string) int {
	if _, after, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(after, "}"); found && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*0x1021
		}
	}
	return int(crc) % slots
}
