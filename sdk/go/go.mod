module plannerd/sdk/go

go 1.26.0

require github.com/twmb/murmur3 v1.2.2

require github.com/klauspost/compress v1.20.3
