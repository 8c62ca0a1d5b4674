-- +goose Up
-- One row for each running worker process. Operations and log followers refer
-- to it, so one UPDATE a beat keeps all their leases.
CREATE TABLE worker_session (
    id text PRIMARY KEY,
    started_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE TABLE operation (
    id text COLLATE "C" PRIMARY KEY,
    team_id text COLLATE "C" NOT NULL REFERENCES team,
    project_id text COLLATE "C" NOT NULL REFERENCES project,
    kind text NOT NULL,
    status text NOT NULL CHECK (status IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED')),
    -- FORWARD does the work; CLEANUP undoes it after a failure or a cancel.
    phase text NOT NULL DEFAULT 'FORWARD' CHECK (phase IN ('FORWARD', 'CLEANUP')),
    target_id text COLLATE "C" NOT NULL,
    -- The objects above the target, nearest first: whoever follows one of them is told.
    ancestors text[] NOT NULL,
    actor_id text COLLATE "C" REFERENCES app_user,
    urgent boolean NOT NULL,
    simulated boolean NOT NULL,
    state jsonb NOT NULL DEFAULT '{}',
    step integer NOT NULL DEFAULT 0,
    -- How many steps of the forward phase were done.
    steps_done integer NOT NULL DEFAULT 0,
    -- attempt counts deliveries; tries counts failures that were tried again.
    attempt integer NOT NULL DEFAULT 1,
    enqueued_attempt integer NOT NULL DEFAULT 0,
    enqueued_at timestamptz,
    run_after timestamptz NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    retries integer NOT NULL DEFAULT 0,
    cancel_requested_at timestamptz,
    session_id text,
    fence bigint NOT NULL DEFAULT 0,
    error_code text,
    error_message text,
    error_retryable boolean,
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    CHECK ((status IN ('SUCCEEDED', 'FAILED', 'CANCELED')) = (finished_at IS NOT NULL)),
    CHECK ((status = 'RUNNING') = (session_id IS NOT NULL))
);
-- Due work: what the relay looks for.
CREATE INDEX operation_due ON operation (run_after) WHERE status = 'QUEUED';
CREATE INDEX operation_leased ON operation (session_id) WHERE status = 'RUNNING';
CREATE INDEX operation_target ON operation (target_id, id);
CREATE INDEX operation_project ON operation (project_id, id);
CREATE INDEX operation_ancestors ON operation USING gin (ancestors);
CREATE INDEX operation_live ON operation (project_id, id) WHERE status IN ('QUEUED', 'RUNNING');

CREATE TABLE operation_step (
    operation_id text COLLATE "C" NOT NULL REFERENCES operation ON DELETE CASCADE,
    idx integer NOT NULL,
    phase text NOT NULL CHECK (phase IN ('FORWARD', 'CLEANUP')),
    name text NOT NULL,
    status text NOT NULL CHECK (status IN ('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'SKIPPED')),
    started_at timestamptz,
    finished_at timestamptz,
    detail text,
    PRIMARY KEY (operation_id, idx)
);

-- Who may run beside whom. A lock that is not granted is a place in the queue:
-- its operation is not due until all its locks are granted.
CREATE TABLE operation_lock (
    resource text COLLATE "C" NOT NULL,
    operation_id text COLLATE "C" NOT NULL REFERENCES operation ON DELETE CASCADE,
    mode text NOT NULL CHECK (mode IN ('SHARED', 'EXCLUSIVE')),
    granted boolean NOT NULL,
    PRIMARY KEY (resource, operation_id)
);
CREATE UNIQUE INDEX operation_lock_exclusive ON operation_lock (resource) WHERE granted AND mode = 'EXCLUSIVE';
CREATE INDEX operation_lock_waiting ON operation_lock (operation_id) WHERE NOT granted;

CREATE TABLE event (
    project_id text COLLATE "C" NOT NULL REFERENCES project ON DELETE CASCADE,
    seq bigint NOT NULL,
    kind text NOT NULL,
    occurred_at timestamptz NOT NULL,
    subject_id text COLLATE "C" NOT NULL,
    operation_id text COLLATE "C",
    actor_id text COLLATE "C",
    status text,
    step text,
    -- The ids of the subject and of what is above it.
    topics text[] NOT NULL,
    PRIMARY KEY (project_id, seq)
);

CREATE TABLE idempotency_key (
    scope text COLLATE "C" NOT NULL,
    actor_id text COLLATE "C" NOT NULL,
    mutation text NOT NULL,
    key text COLLATE "C" NOT NULL,
    input_hash bytea NOT NULL,
    object_ids text[] NOT NULL DEFAULT '{}',
    operation_id text COLLATE "C",
    created_at timestamptz NOT NULL,
    PRIMARY KEY (scope, actor_id, mutation, key)
);
CREATE INDEX idempotency_key_age ON idempotency_key (created_at);

-- What the platform did on its own to something of a team's.
CREATE TABLE audit_event (
    id text COLLATE "C" PRIMARY KEY,
    team_id text COLLATE "C" NOT NULL REFERENCES team,
    action text NOT NULL,
    object_id text COLLATE "C" NOT NULL,
    detail jsonb NOT NULL,
    occurred_at timestamptz NOT NULL
);
CREATE INDEX audit_event_team ON audit_event (team_id, id);

-- The memory of the simulated cloud. It is no part of the product's own state:
-- nothing refers to it, and it is written outside our transactions.
CREATE TABLE simulator_machine (
    id text PRIMARY KEY,
    account_id text NOT NULL,
    token text NOT NULL,
    revision bigint NOT NULL,
    doc bytea NOT NULL
);
CREATE INDEX simulator_machine_account ON simulator_machine (account_id);
