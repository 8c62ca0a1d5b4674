// Package syslog keeps the log lines of VM providers: it takes them in, stores
// them for a while, pages through them and follows their end.
//
// Lines of one provider are numbered 1, 2, 3 … without holes, in the order in
// which they were stored, whatever their own clocks say. The number is a counter
// in the database, reserved in the transaction that stores the lines. Each line
// of the guest's journal is stored once: the journal cursor moves in the same
// transaction, and a fencing number keeps a follower out that has lost its lease.
//
// Lines live in one partition a day, are cleaned before they are stored (see
// clean.go), and end by age or by a limit of bytes for each provider.
//
// The package owns the log_ tables. It must not know guests, drivers, projects
// or who may read what; it uses a pgx pool and no gorm, because lines go in by
// COPY.
package syslog
