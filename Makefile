# Everything a newcomer and CI need. 'make help' lists it.
.POSIX:
.SUFFIXES:
SHELL = /bin/sh

# Where built programs go.
BIN = bin

# The linter is a module of its own, so that its dependencies are not ours.
GOLANGCI = go tool -modfile=tools/go.mod golangci-lint

.PHONY: help run build test test-fast demo gen schema lint fmt

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

run: ## get what is needed, then start the development server
	@scripts/setup run
	@go build -o $(BIN)/server ./server
	@exec $(BIN)/server dev

build: ## build the server into bin/
	go build -o $(BIN)/server ./server

test: ## get what is needed, then run every test, on two PostgreSQL versions
	@scripts/setup test
	@scripts/test

test-fast: ## every test once, without the race detector
	@scripts/setup test
	@scripts/test fast

demo: ## drive a running development server through a VM's life
	@go build -o $(BIN)/server ./server
	@exec $(BIN)/server demo

gen: ## regenerate code from the GraphQL schema
	go tool gqlgen generate
	go generate ./...

schema: ## print the whole schema into schema.graphql
	@go run ./graph/printschema > schema.graphql.new && mv schema.graphql.new schema.graphql || { rm -f schema.graphql.new; exit 1; }

lint: ## run the linters
	$(GOLANGCI) run ./...

fmt: ## format the code
	$(GOLANGCI) fmt ./...
