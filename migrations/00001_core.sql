-- +goose Up
-- Everything that belongs to a team carries team_id, so that one join with
-- team_member scopes any read. Ids are text with COLLATE "C": they compare by
-- bytes, whatever the collation of the database is.

-- The time of leases and timers is the database's. Only tests set an offset.
CREATE TABLE clock_offset (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    value interval NOT NULL DEFAULT interval '0'
);
INSERT INTO clock_offset DEFAULT VALUES;

-- STABLE although the clock moves: one value for a statement is what is wanted,
-- and it lets the value be compared through an index.
-- +goose StatementBegin
CREATE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT clock_timestamp() + value FROM clock_offset
$$;
-- +goose StatementEnd

CREATE TABLE app_user (
    id text COLLATE "C" PRIMARY KEY,
    email text NOT NULL,
    name text NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX app_user_email ON app_user (lower(email));

CREATE TABLE access_token (
    id text COLLATE "C" PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES app_user,
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    ceiling text NOT NULL CHECK (ceiling IN ('VIEWER', 'MEMBER', 'ADMIN', 'OWNER')),
    expires_at timestamptz,
    revoked_at timestamptz,
    access_version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL
);
CREATE INDEX access_token_user ON access_token (user_id, id);

CREATE TABLE team (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL
);

CREATE TABLE team_member (
    team_id text COLLATE "C" NOT NULL REFERENCES team,
    user_id text COLLATE "C" NOT NULL REFERENCES app_user,
    role text NOT NULL CHECK (role IN ('VIEWER', 'MEMBER', 'ADMIN', 'OWNER')),
    joined_at timestamptz NOT NULL,
    PRIMARY KEY (team_id, user_id)
);
CREATE INDEX team_member_user ON team_member (user_id, team_id);

-- Outlives the membership, so that those who follow it see the end of it too.
CREATE TABLE team_access (
    team_id text COLLATE "C" NOT NULL REFERENCES team,
    user_id text COLLATE "C" NOT NULL REFERENCES app_user,
    access_version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (team_id, user_id)
);

-- The first team is made once; a second bootstrap meets this row.
CREATE TABLE bootstrap (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    team_id text COLLATE "C" NOT NULL REFERENCES team
);

CREATE TABLE project (
    id text COLLATE "C" PRIMARY KEY,
    team_id text COLLATE "C" NOT NULL REFERENCES team,
    name text NOT NULL,
    slug text NOT NULL,
    version integer NOT NULL DEFAULT 1,
    event_seq bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX project_name ON project (team_id, lower(name));
CREATE INDEX project_team ON project (team_id, id);

CREATE TABLE component (
    id text COLLATE "C" PRIMARY KEY,
    team_id text COLLATE "C" NOT NULL REFERENCES team,
    project_id text COLLATE "C" NOT NULL REFERENCES project,
    kind text NOT NULL CHECK (kind IN ('VIRTUAL_MACHINE')),
    name text NOT NULL,
    slug text NOT NULL,
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX component_name ON component (project_id, lower(name));
CREATE INDEX component_project ON component (project_id, id);

-- One row is one published version, which never changes. No team means public.
CREATE TABLE catalog_item (
    id text COLLATE "C" PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('TEMPLATE', 'ADD_ON')),
    team_id text COLLATE "C" REFERENCES team,
    slug text COLLATE "C" NOT NULL,
    version text NOT NULL,
    digest text NOT NULL,
    manifest jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE NULLS NOT DISTINCT (kind, team_id, slug, version)
);

CREATE TABLE cloud_account (
    id text COLLATE "C" PRIMARY KEY,
    team_id text COLLATE "C" NOT NULL REFERENCES team,
    name text NOT NULL,
    kind text NOT NULL,
    settings jsonb NOT NULL,
    sealed bytea NOT NULL,
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX cloud_account_name ON cloud_account (team_id, lower(name));
CREATE INDEX cloud_account_team ON cloud_account (team_id, id);

CREATE TABLE virtual_machine (
    id text COLLATE "C" PRIMARY KEY REFERENCES component ON DELETE CASCADE,
    template_id text COLLATE "C" NOT NULL REFERENCES catalog_item,
    add_on_ids text[] NOT NULL,
    cpu_milli bigint NOT NULL CHECK (cpu_milli > 0),
    memory_bytes bigint NOT NULL CHECK (memory_bytes > 0),
    disk_bytes bigint NOT NULL CHECK (disk_bytes > 0)
);

CREATE TABLE vm_provider (
    id text COLLATE "C" PRIMARY KEY,
    team_id text COLLATE "C" NOT NULL REFERENCES team,
    project_id text COLLATE "C" NOT NULL REFERENCES project,
    vm_id text COLLATE "C" NOT NULL REFERENCES virtual_machine,
    account_id text COLLATE "C" NOT NULL REFERENCES cloud_account,
    kind text NOT NULL,
    region text NOT NULL,
    size text NOT NULL,
    status text NOT NULL CHECK (status IN ('PENDING', 'PROVISIONING', 'RUNNING', 'STOPPING', 'STOPPED',
        'STARTING', 'FAILED', 'LOST', 'DELETING', 'DELETED')),
    status_since timestamptz NOT NULL,
    last_error_code text,
    last_error_message text,
    last_error_retryable boolean,
    instance_id text,
    address text,
    -- What was applied to the machine: template, add-ons and what they came to.
    applied_template_id text COLLATE "C" REFERENCES catalog_item,
    applied_add_on_ids text[],
    simulated boolean NOT NULL,
    version integer NOT NULL DEFAULT 1,
    observed_at timestamptz,
    created_at timestamptz NOT NULL
);
CREATE INDEX vm_provider_vm ON vm_provider (vm_id, id);
CREATE INDEX vm_provider_account ON vm_provider (account_id, id);
CREATE INDEX vm_provider_project ON vm_provider (project_id, id);

-- The life cycle, as a table that the trigger below enforces: a status that
-- follows no arrow is a bug, and must not be stored.
CREATE TABLE vm_provider_transition (
    from_status text NOT NULL,
    to_status text NOT NULL,
    PRIMARY KEY (from_status, to_status)
);
INSERT INTO vm_provider_transition VALUES
    ('PENDING', 'PROVISIONING'),
    ('PROVISIONING', 'RUNNING'), ('PROVISIONING', 'FAILED'),
    ('FAILED', 'PROVISIONING'),
    ('RUNNING', 'STOPPING'), ('STOPPING', 'STOPPED'), ('STOPPING', 'RUNNING'),
    ('STOPPED', 'STARTING'), ('STARTING', 'RUNNING'), ('STARTING', 'STOPPED'),
    ('RUNNING', 'STOPPED'), ('STOPPED', 'RUNNING'),
    ('LOST', 'RUNNING'), ('LOST', 'STOPPED'),
    ('DELETING', 'DELETED');
INSERT INTO vm_provider_transition
    SELECT s, 'DELETING' FROM unnest(ARRAY['PENDING', 'PROVISIONING', 'RUNNING', 'STOPPING', 'STOPPED',
        'STARTING', 'FAILED', 'LOST']) s;
INSERT INTO vm_provider_transition
    SELECT s, 'LOST' FROM unnest(ARRAY['PENDING', 'PROVISIONING', 'RUNNING', 'STOPPING', 'STOPPED',
        'STARTING', 'FAILED', 'DELETING']) s;

-- +goose StatementBegin
CREATE FUNCTION vm_provider_check_status() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'PENDING' THEN
            RAISE EXCEPTION 'a vm provider begins as PENDING, not %', NEW.status USING ERRCODE = 'check_violation';
        END IF;
    ELSIF NEW.status <> OLD.status AND NOT EXISTS (
        SELECT 1 FROM vm_provider_transition WHERE from_status = OLD.status AND to_status = NEW.status) THEN
        RAISE EXCEPTION 'a vm provider does not go from % to %', OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER vm_provider_status BEFORE INSERT OR UPDATE OF status ON vm_provider
    FOR EACH ROW EXECUTE FUNCTION vm_provider_check_status();

-- A provider whose row is gone, with its VM or project: an instance of it that
-- shows up late is still known to be ours, and is destroyed.
CREATE TABLE retired_provider (
    id text COLLATE "C" PRIMARY KEY,
    team_id text COLLATE "C" NOT NULL,
    account_id text COLLATE "C" NOT NULL,
    retired_at timestamptz NOT NULL
);
CREATE INDEX retired_provider_account ON retired_provider (account_id);

-- +goose StatementBegin
CREATE FUNCTION vm_provider_retire() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO retired_provider VALUES (OLD.id, OLD.team_id, OLD.account_id, app_now());
    RETURN OLD;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER vm_provider_retired AFTER DELETE ON vm_provider
    FOR EACH ROW EXECUTE FUNCTION vm_provider_retire();
