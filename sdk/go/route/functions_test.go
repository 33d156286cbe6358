package route

import (
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// rows reads a table of testdata, without its header.
func rows(t *testing.T, name string, columns int) [][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[1:] {
		fields := strings.Split(line, "\t")
		if len(fields) != columns {
			t.Fatalf("%s: %q has %d columns, want %d", name, line, len(fields), columns)
		}
		out = append(out, fields)
	}
	return out
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// upTo returns n instances with ids 0, 3, 6, …
func upTo(n int) []Instance {
	out := make([]Instance, n)
	for i := range out {
		out[i].ID = int32(3 * i)
	}
	return out
}

func mustNew(t testing.TB, c Config, instances []Instance) Function {
	t.Helper()
	f, err := New(c, instances)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func instanceOf(t *testing.T, f Function, key []byte) int32 {
	t.Helper()
	d, err := f.Instance(key, KeyHash(key))
	if err != nil {
		t.Fatalf("%q: %v", key, err)
	}
	return d
}

func TestFlinkPlacesKeysAsTheEngine(t *testing.T) {
	hashCodes := map[string]func([]byte) (int32, error){String: stringHashCode, Int: intHashCode, Long: longHashCode}
	seen := map[string]int{}
	for _, row := range rows(t, "flink.tsv", 8) {
		keyType, key := row[0], []byte(row[1])
		seen[keyType]++
		code, err := hashCodes[keyType](key)
		if err != nil || int(code) != number(t, row[2]) {
			t.Errorf("%s %q: hash code %d, %v, want %s", keyType, key, code, err, row[2])
		}
		if got := flinkMurmur(code); int(got) != number(t, row[3]) {
			t.Errorf("%s %q: murmur %d, want %s", keyType, key, got, row[3])
		}
		maxParallelism, parallelism := number(t, row[4]), number(t, row[5])
		if got := int(flinkMurmur(code)) % maxParallelism; got != number(t, row[6]) {
			t.Errorf("%s %q: key group %d of %d, want %s", keyType, key, got, maxParallelism, row[6])
		}
		f := mustNew(t, Config{Function: Flink, KeyType: keyType, MaxParallelism: maxParallelism}, upTo(parallelism))
		if got, want := instanceOf(t, f, key), int32(3*number(t, row[7])); got != want {
			t.Errorf("%s %q: instance %d of %d/%d, want %d", keyType, key, got, parallelism, maxParallelism, want)
		}
	}
	for keyType := range hashCodes {
		if seen[keyType] < 100 {
			t.Errorf("only %d rows of key type %s", seen[keyType], keyType)
		}
	}
}

func TestKafkaPlacesKeysAsTheEngine(t *testing.T) {
	for _, row := range rows(t, "kafka.tsv", 4) {
		key, err := hex.DecodeString(row[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := int(int32(murmur2(key))); got != number(t, row[1]) {
			t.Errorf("%x: murmur2 %d, want %s", key, got, row[1])
		}
		partitions, partition := number(t, row[2]), number(t, row[3])
		f := mustNew(t, Config{Function: Kafka, Partitions: partitions}, upTo(5))
		if got, want := instanceOf(t, f, key), int32(3*(partition%5)); got != want {
			t.Errorf("%x: instance %d, want %d of partition %d", key, got, want, partition)
		}
		assignment := make([]int32, partitions)
		assignment[partition] = 6
		f = mustNew(t, Config{Function: Kafka, Partitions: partitions, Assignment: assignment}, upTo(5))
		if got := instanceOf(t, f, key); got != 6 {
			t.Errorf("%x: instance %d, want 6 to which partition %d is assigned", key, got, partition)
		}
	}
}

// Flink's key groups of an operator are contiguous, and as many for each as for
// any other, give or take one.
func TestFlinkKeyGroupsAreContiguous(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 200 {
		parallelism := 1 + rng.IntN(300)
		maxParallelism := parallelism + rng.IntN(MaxMaxParallelism-parallelism+1)>>rng.IntN(12)
		instances := upTo(parallelism)
		f := newFlink(Config{MaxParallelism: maxParallelism}, instances)
		groups := make(map[int32]int, parallelism)
		for g, owner := range f.owners {
			if groups[owner]++; g > 0 && owner < f.owners[g-1] {
				t.Fatalf("key group %d belongs to %d, the one before to %d", g, owner, f.owners[g-1])
			}
		}
		for _, d := range instances {
			if n := groups[d.ID]; n != maxParallelism/parallelism && n != (maxParallelism+parallelism-1)/parallelism {
				t.Fatalf("instance %d has %d key groups of %d over %d instances", d.ID, n, maxParallelism, parallelism)
			}
		}
	}
}

// The definition of String.hashCode, over UTF-16 as a library decodes it.
func TestStringHashCodeAgreesWithDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	for range 2000 {
		var key string
		for range rng.IntN(20) {
			key += string(rune(rng.IntN(0x110000) >> rng.IntN(20))) // a surrogate becomes U+FFFD
		}
		var want int32
		for _, unit := range utf16.Encode([]rune(key)) {
			want = 31*want + int32(unit)
		}
		if got, err := stringHashCode([]byte(key)); err != nil || got != want {
			t.Fatalf("hash code of %q: %d, %v, want %d", key, got, err, want)
		}
	}
}

func TestFlinkRefusesKeysItCannotRead(t *testing.T) {
	for keyType, keys := range map[string][]string{
		String: {"\xff", "ab\x80", "caf\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "0123456\xe2\x82"},
		Int: {"", "x", "1.5", "+1", "01", "-0", "-01", "--1", "-", " 1", "1 ", "1_000", "0x10", "٣", "2147483648",
			"-2147483649"},
		Long: {"", "x", "1e3", "+1", "00", "-0", "9223372036854775808", "-9223372036854775809"},
	} {
		f := mustNew(t, Config{Function: Flink, KeyType: keyType}, upTo(2))
		for _, key := range keys {
			if d, err := f.Instance([]byte(key), 0); err == nil {
				t.Errorf("%s %q is placed on %d", keyType, key, d)
			}
		}
	}
	f := mustNew(t, Config{Function: Flink}, upTo(2))
	if _, err := f.Instance([]byte("a \uFFFD is valid UTF-8"), 0); err != nil {
		t.Errorf("a replacement character that was sent: %v", err)
	}
}

func TestModulo(t *testing.T) {
	instances := []Instance{{ID: 2}, {ID: 5}, {ID: 11}}
	f := mustNew(t, Config{Function: Modulo}, instances)
	for _, key := range []string{"hello", "user:1", "user:2", "日本語"} {
		hash := KeyHash([]byte(key))
		if got, want := instanceOf(t, f, []byte(key)), instances[hash%3].ID; got != want {
			t.Errorf("%q: instance %d, want %d", key, got, want)
		}
	}
	// The hash is 0xcbd8a7b341bd9b02, which is 0 modulo 3; as a signed number it
	// would not be an index at all.
	if got := instanceOf(t, f, []byte("hello")); got != 2 {
		t.Errorf("hello is on %d, want 2", got)
	}
}

func TestEveryFunctionPlacesOnItsInstancesOnly(t *testing.T) {
	instances := []Instance{{ID: 1}, {ID: 4}, {ID: 9}, {ID: 10}}
	for _, c := range []Config{{}, {Function: Modulo}, {Function: Flink}, {Function: Kafka, Partitions: 12}} {
		f := mustNew(t, c, instances)
		count := map[int32]int{}
		const keys = 20_000
		for i := range keys {
			count[instanceOf(t, f, strconv.AppendInt([]byte("user:"), int64(i), 10))]++
		}
		for _, d := range instances {
			// A quarter each, but for what 128 random tokens leave to chance.
			if n := count[d.ID]; n < keys/6 || n > keys/3 {
				t.Errorf("%q: instance %d has %d of %d keys", c.Function, d.ID, n, keys)
			}
			delete(count, d.ID)
		}
		if len(count) > 0 {
			t.Errorf("%q: keys on unknown instances: %v", c.Function, count)
		}
	}
}

// One operation is one key of 16 bytes (of 10 digits under the key types int and long).
func BenchmarkInstance(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var texts, numbers [1 << 16][]byte
	for i := range texts {
		texts[i] = strconv.AppendUint([]byte("user:"), 1e10+rng.Uint64N(9e10), 10)
		numbers[i] = strconv.AppendUint(nil, 1e9+rng.Uint64N(1e9), 10)
	}
	for _, c := range []struct {
		name   string
		config Config
		keys   *[1 << 16][]byte
	}{
		{"ring", Config{}, &texts},
		{"modulo", Config{Function: Modulo}, &texts},
		{"flink/key_type=string", Config{Function: Flink}, &texts},
		{"flink/key_type=int", Config{Function: Flink, KeyType: Int}, &numbers},
		{"flink/key_type=long", Config{Function: Flink, KeyType: Long}, &numbers},
		{"kafka", Config{Function: Kafka, Partitions: 100}, &texts},
	} {
		b.Run("function="+c.name, func(b *testing.B) {
			f := mustNew(b, c.config, upTo(40))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				key := c.keys[i&(1<<16-1)]
				if _, err := f.Instance(key, KeyHash(key)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
