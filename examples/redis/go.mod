module plannerd/examples/redis

go 1.26.0

require (
	github.com/redis/go-redis/v9 v9.23.0
	plannerd/sdk/go v0.0.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/twmb/murmur3 v1.2.2 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace plannerd/sdk/go => ../../sdk/go
