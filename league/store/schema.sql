-- The tables of a store, in the order in which data flows. What stands below the line is derived: it can be
-- dropped and fitted again. No keys are indexed: an anti-join inside each write keeps matches unique.

CREATE TABLE meta (
    application VARCHAR NOT NULL,  -- metarena: what tells a store from any other DuckDB database
    version INTEGER NOT NULL       -- of the schema, see migrations.py
);

CREATE TABLE tournaments (
    tournament VARCHAR NOT NULL,   -- its --name, or a hash of game, rules, seed and format
    ordinal INTEGER NOT NULL,      -- order of arrival in this store, from 0: ratings are folded in it
    format VARCHAR NOT NULL,       -- round_robin, gauntlet, play
    seed BIGINT NOT NULL,
    rules VARCHAR NOT NULL,        -- MatchRules as JSON
    config VARCHAR NOT NULL,       -- the whole resolved configuration as JSON
    versions VARCHAR NOT NULL,     -- versions of this package and what it plays with, as JSON
    created TIMESTAMP NOT NULL     -- UTC
);

CREATE TABLE members (
    name VARCHAR NOT NULL,
    spec VARCHAR NOT NULL,         -- canonical agent spec
    fingerprint VARCHAR NOT NULL,  -- what the agent is, its name left out
    created TIMESTAMP NOT NULL
);

CREATE TABLE matches (
    match_id VARCHAR NOT NULL,
    tournament VARCHAR NOT NULL,
    game VARCHAR NOT NULL,         -- canonical game string
    round INTEGER NOT NULL,
    pair INTEGER NOT NULL,         -- matches of one pair index share their seed
    replica INTEGER NOT NULL,
    seed BIGINT NOT NULL,
    agents VARCHAR[] NOT NULL,     -- names, by seat in the first episode; the lists below run in parallel
    fingerprints VARCHAR[] NOT NULL,
    mean_returns DOUBLE[] NOT NULL,
    places INTEGER[] NOT NULL,     -- 0 is best, ties share a place
    faults INTEGER[] NOT NULL,     -- illegal, unparsable, late, crashed, hung ... decisions
    episodes INTEGER NOT NULL      -- how many were played or forfeited
);

CREATE TABLE match_runs (          -- every attempt at a match, void ones too; the only table with times and workers
    match_id VARCHAR NOT NULL,
    tournament VARCHAR NOT NULL,
    game VARCHAR NOT NULL,
    agents VARCHAR[] NOT NULL,
    attempt INTEGER NOT NULL,      -- from 0
    status VARCHAR NOT NULL,       -- finished or void
    reason VARCHAR,                -- why it is void
    worker INTEGER,
    started TIMESTAMP NOT NULL,    -- UTC
    seconds DOUBLE NOT NULL
);

CREATE TABLE episodes (
    match_id VARCHAR NOT NULL,
    episode INTEGER NOT NULL,      -- from 1
    seed BIGINT NOT NULL,
    seats VARCHAR[] NOT NULL,      -- seats[i] is the name of the agent in seat i (from 0; SQL lists count from 1)
    turn_seats INTEGER[] NOT NULL, -- who moved, turn by turn; `actions` runs in parallel
    actions VARCHAR[] NOT NULL,
    returns DOUBLE[] NOT NULL,     -- by seat
    success BOOLEAN[] NOT NULL,
    termination VARCHAR NOT NULL,  -- a value of games.game.Termination
    offender INTEGER,              -- the seat whose fault ended the episode
    trajectory_hash VARCHAR NOT NULL
);

CREATE TABLE turns (               -- decisions that carry more than their action, and every fault
    match_id VARCHAR NOT NULL,
    episode INTEGER NOT NULL,
    turn INTEGER NOT NULL,         -- from 0, an index into the episode's lists
    seat INTEGER NOT NULL,
    attempt INTEGER NOT NULL,      -- from 0; above 0 after a retry
    action VARCHAR,                -- what was played; NULL where the attempt failed
    raw VARCHAR,                   -- what the agent said, kept as it was
    fault VARCHAR,                 -- a value of Termination, where the attempt was a fault
    extra VARCHAR                  -- JSON
);

CREATE TABLE reflections (
    match_id VARCHAR NOT NULL,
    episode INTEGER NOT NULL,      -- the episode it follows
    seat INTEGER NOT NULL,
    agent VARCHAR NOT NULL,
    text VARCHAR NOT NULL
);

CREATE TABLE generations (         -- every answer of a language model, as it was sampled: it is training data
    match_id VARCHAR NOT NULL,
    episode INTEGER NOT NULL,
    turn INTEGER,                  -- as in `turns`; NULL for a reflection, which follows the episode
    seat INTEGER NOT NULL,
    attempt INTEGER NOT NULL,      -- as in `turns`; 0 for a reflection
    phase VARCHAR NOT NULL,        -- play or reflect
    number INTEGER NOT NULL,       -- from 0, of the answers that led to one decision
    model VARCHAR NOT NULL,        -- with its adapter, where it has one
    raw VARCHAR NOT NULL,
    prompt_ids INTEGER[],          -- tokens of the prompt; NULL where a server does not tell, as in the next two
    completion_ids INTEGER[],      -- tokens of the answer, the one that ended it included
    logprobs FLOAT[],              -- natural logarithms, in the distribution the token was drawn from
    finish_reason VARCHAR NOT NULL,
    sampling VARCHAR NOT NULL,     -- settings and seed as JSON
    constrained BOOLEAN NOT NULL,  -- held to a set of choices: not to be trained on
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds DOUBLE NOT NULL,       -- from the request to the answer
    price DOUBLE,                  -- US dollars
    prompt VARCHAR,                -- the messages as JSON, where prompt_ids are not known
    notes VARCHAR NOT NULL         -- what the agent adds, as JSON
);

CREATE TABLE training_runs (
    run VARCHAR NOT NULL,          -- its name
    config VARCHAR NOT NULL,       -- the whole resolved configuration as JSON
    versions VARCHAR NOT NULL,     -- versions of this package and what it trains with, as JSON
    seed BIGINT NOT NULL,
    started TIMESTAMP NOT NULL     -- UTC
);

CREATE TABLE training_steps (
    run VARCHAR NOT NULL,
    step INTEGER NOT NULL,         -- the update, from 1
    metrics VARCHAR NOT NULL,      -- numbers by name, as JSON; null for what was not finite
    seconds DOUBLE NOT NULL,
    created TIMESTAMP NOT NULL     -- UTC, when it was done
);

CREATE TABLE checkpoints (         -- weights on disk, and what they came from
    run VARCHAR NOT NULL,
    step INTEGER NOT NULL,         -- updates up to it
    path VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,        -- the name by which it plays
    fingerprint VARCHAR NOT NULL,  -- what the agent is, its name left out
    digest VARCHAR NOT NULL,       -- of the weights
    parent VARCHAR,                -- digest of the weights that it came from; NULL for none
    base VARCHAR NOT NULL,         -- the model that it builds on
    metrics VARCHAR NOT NULL,      -- as in training_steps
    created TIMESTAMP NOT NULL     -- UTC, when it was saved
);

---------------------------------------------------------------------------------------------------- derived

CREATE TABLE ratings (
    pool VARCHAR NOT NULL,         -- a game, or overall
    agent VARCHAR NOT NULL,
    mu DOUBLE NOT NULL,
    sigma DOUBLE NOT NULL,
    matches INTEGER NOT NULL,
    wins INTEGER NOT NULL,
    draws INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    score DOUBLE NOT NULL,
    faults INTEGER NOT NULL,
    answers BIGINT NOT NULL,       -- what faults are counted among
    void INTEGER NOT NULL
);

CREATE TABLE rating_history (
    pool VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    matches INTEGER NOT NULL,      -- how many matches of this agent in this pool had been rated
    mu DOUBLE NOT NULL,
    sigma DOUBLE NOT NULL
);

CREATE TABLE fitted (              -- what the ratings were fitted on, to tell when they are stale
    matches BIGINT NOT NULL,
    runs BIGINT NOT NULL
);
