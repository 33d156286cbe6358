package main

import "context"

const memberVariable = "KAFKA_GROUPS_MEMBER"

func runMember(context.Context, string) error { return nil }
