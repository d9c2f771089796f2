#!/bin/sh
# Creates the user and the database of the service. Patroni runs it once, with the URL of the new server as $1.
psql --quiet --set ON_ERROR_STOP=1 --set password="$DATABASE_PASSWORD" "$1" <<'SQL'
CREATE ROLE space_service LOGIN PASSWORD :'password';
CREATE DATABASE space_service OWNER space_service;
SQL
