#!/bin/bash
# First start of the PostgreSQL container: the owner that migrates, and the role that the application runs as.
# Row-level security is void for a superuser and for a table's owner, so the application gets neither.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
    --set owner_word="$VXPU_OWNER_PASSWORD" --set app_word="$VXPU_APP_PASSWORD" <<'SQL'
CREATE ROLE vxpu_owner LOGIN NOSUPERUSER PASSWORD :'owner_word';
CREATE ROLE vxpu_app LOGIN NOSUPERUSER NOCREATEDB PASSWORD :'app_word';
CREATE DATABASE vxpu OWNER vxpu_owner;
SQL
