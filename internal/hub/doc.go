// Package hub tells the subscribers of this process that something has changed.
//
// A stream is a thing in PostgreSQL that has a strictly growing number: the
// events of a project, the log of a provider, the access of a user to a team.
// A wake says "this stream has reached this number"; it carries no data. Who is
// woken reads the data itself, through the code that a query uses.
//
// Wakes travel three ways, and any one of them is enough:
//
//   - directly to the subscribers of the process that made the change;
//   - over one Redis channel to every other process, best effort;
//   - by asking PostgreSQL once a second for the heads of all streams that
//     this process is subscribed to, which finds whatever the other two lost.
//
// So an empty, restarted or absent Redis costs at most the second, never a
// change.
//
// The package owns streams, subscriptions and the shared buffer of feeds
// (Ring). It must not know what is in a stream, who may read it, or any table.
package hub
