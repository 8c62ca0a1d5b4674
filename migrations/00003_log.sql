-- +goose Up
-- The log of a VM provider is a row of lines numbered without holes. The number
-- is a counter in log_head, taken under its row lock, so numbers become visible
-- in their own order: who has read up to n never meets a line below n later.
CREATE TABLE log_head (
    provider_id text COLLATE "C" PRIMARY KEY,
    next_seq bigint NOT NULL DEFAULT 1 CHECK (next_seq > 0),
    -- The day of the newest line. A day never goes back, even if the clock does.
    last_day date NOT NULL DEFAULT date '1970-01-01',
    -- How far the guest's journal has been read; empty before the first line.
    journal_cursor text NOT NULL DEFAULT '',
    -- Who may write lines of the guest: the follower that took this number.
    follower_fence bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Partitions, one a day, are made and dropped by the server. There is no DEFAULT
-- partition: with one, no partition could be detached concurrently.
CREATE TABLE log_line (
    provider_id text COLLATE "C" NOT NULL,
    ingested_on date NOT NULL,
    seq bigint NOT NULL,
    time timestamptz NOT NULL,
    source text NOT NULL CHECK (source IN ('JOURNAL', 'CONSOLE', 'PLATFORM')),
    unit text NOT NULL,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 7),
    message text NOT NULL,
    -- NULL when it equals message, as it mostly does.
    plain_message text,
    truncated boolean NOT NULL,
    PRIMARY KEY (provider_id, ingested_on, seq)
) PARTITION BY RANGE (ingested_on);

-- What is stored of a provider's log, day by day: where the oldest line is, which
-- partitions a read needs, and how many bytes there are.
CREATE TABLE log_day (
    provider_id text COLLATE "C" NOT NULL,
    day date NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (provider_id, day)
) WITH (fillfactor = 50);

-- Which providers' journals are to be followed, and by which worker. A row whose
-- worker session is dead or absent is free. The fencing number is in log_head,
-- where the writing of lines checks it.
CREATE TABLE log_follower (
    provider_id text COLLATE "C" PRIMARY KEY REFERENCES log_head,
    wanted boolean NOT NULL,
    session_id text
);
CREATE INDEX log_follower_session ON log_follower (session_id) WHERE session_id IS NOT NULL;
