package service

// Lists are the long parts of a plan, as the service answers them.
type Lists struct {
	RoutingTable struct {
		SizeBefore int64    `json:"size_before"`
		SizeAfter  int64    `json:"size_after"`
		Set        []Entry  `json:"set"`
		Unset      []string `json:"unset"`
	} `json:"routing_table"`
	Migrations []Migration `json:"migrations"`
}

// Entry is one of a routing table.
type Entry struct {
	Key      string `json:"key"`
	Instance int32  `json:"instance"`
}

// Migration is that of one key.
type Migration struct {
	Key    string  `json:"key"`
	From   int32   `json:"from"`
	To     int32   `json:"to"`
	Cost   float64 `json:"cost"`
	State  float64 `json:"state"`
	Reason string  `json:"reason"`
}
