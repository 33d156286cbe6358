// Package live carries plans out in a service whose keys' states are spread over instances,
// while messages flow: the protocol of package handoff with a transport, for services that
// have no log between routers and instances.
//
// Each instance is a [Node]. It is a router, too: [Node.Send] takes a message of any key, and
// returns once the instance that owns the key has processed it and made that durable. A node
// calls others through an [Exchange]: [Local] in one process, [HTTP] between processes. One
// process calls [Drive], which starts plans that are approved, and acknowledges for the
// instances. What a service gives is an [Engine]: its states.
//
// # What is promised
//
// Channels between nodes number what they send: what is lost on the way is sent again, and
// what comes twice is dropped. A message whose sender gets no answer, since its node died,
// may have been processed: the sender sends it again, to any node, with a number of its own,
// and the engine drops what is not new. The numbers are a part of the state of the key, and
// move with it.
//
// A node that dies is opened again with the record that its engine made durable last.
// Plans wait for it.
package live
