//! Meilisearch's engine, milli, as a reference.
//!
//!     milli-reference index FOLDER < ROWS                        {"id", "title", "description", "popularity"} per line
//!     milli-reference search FOLDER [default|popularity] < QUERIES              {"query", "limit"} per line
//!
//! `search` prints {"ids", "ms"} per query, with Meilisearch's default settings but for the ranking rules:
//!
//! - `default`: words, typo, proximity, attribute, sort, exactness.
//! - `popularity`: descending popularity right after `words`.
//!
//! The first search with other rules stores them in the index.

use std::collections::HashSet;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufRead, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use bumpalo::Bump;
use heed::{EnvOpenOptions, WithoutTls};
use memmap2::Mmap;
use milli_core::progress::Progress;
use milli_core::update::new::indexer;
use milli_core::update::{IndexerConfig, Settings};
use milli_core::vector::EmbeddingConfigs;
use milli_core::{
    Criterion, Index, Search, TermsMatchingStrategy, ThreadPoolNoAbortBuilder, TimeBudget,
    default_criteria,
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Reserved address space, not memory.
const MAP_BYTES: usize = 200 << 30;
const MAX_INDEXING_BYTES: usize = 4 << 30;
/// Meilisearch's default `searchCutoffMs`.
const SEARCH_CUTOFF: Duration = Duration::from_millis(1_500);

#[derive(Deserialize)]
struct Row {
    id: Json,
    title: String,
    description: String,
    popularity: u64,
}

/// Meilisearch restricts the characters of a primary key, so rows are numbered.
#[derive(Serialize)]
struct Document {
    key: usize,
    id: Json,
    title: String,
    description: String,
    popularity: u64,
}

#[derive(Deserialize)]
struct Request {
    query: String,
    #[serde(default = "default_limit")]
    limit: usize,
}

fn default_limit() -> usize {
    20
}

#[derive(Serialize)]
struct Response {
    ids: Vec<Json>,
    ms: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["index", folder] => index(Path::new(folder)),
        ["search", folder] | ["search", folder, "default"] => {
            search(Path::new(folder), default_criteria())
        }
        ["search", folder, "popularity"] => search(Path::new(folder), popular_criteria()),
        _ => Err("Usage: milli-reference index FOLDER | search FOLDER [default|popularity]".into()),
    }
}

fn popular_criteria() -> Vec<Criterion> {
    let mut criteria = default_criteria();
    let words = criteria.iter().position(|rule| *rule == Criterion::Words);
    let after_words = words.map_or(0, |at| at + 1);
    criteria.insert(after_words, Criterion::Desc("popularity".to_owned()));
    criteria
}

fn open(folder: &Path, is_new: bool) -> milli_core::Result<Index> {
    let mut options: EnvOpenOptions<WithoutTls> = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(MAP_BYTES);
    Index::new(options, folder, is_new)
}

fn index(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let index = open(folder, true)?;
    let config = IndexerConfig {
        max_memory: Some(MAX_INDEXING_BYTES),
        ..IndexerConfig::default()
    };
    let mut wtxn = index.write_txn()?;
    let mut settings = Settings::new(&mut wtxn, &index, &config);
    settings.set_primary_key("key".to_owned());
    settings.set_searchable_fields(vec!["title".to_owned(), "description".to_owned()]);
    settings.set_sortable_fields(HashSet::from(["popularity".to_owned()]));
    settings.execute(|_| (), || false)?;
    wtxn.commit()?;

    let file = folder.join("rows.ndjson");
    write_documents(&file)?;
    // Not modified while it is mapped: this process has written it and deletes it below.
    let documents = unsafe { Mmap::map(&File::open(&file)?)? };
    let mut operation = indexer::DocumentOperation::new();
    operation.replace_documents(&documents)?;

    let rtxn = index.read_txn()?;
    let mut wtxn = index.write_txn()?;
    let old_fields = index.fields_ids_map(&rtxn)?;
    let mut new_fields = old_fields.clone();
    let arena = Bump::new();
    let (changes, payloads, primary_key) = operation.into_changes(
        &arena,
        &index,
        &rtxn,
        None,
        &mut new_fields,
        &|| false,
        Progress::default(),
    )?;
    if let Some(error) = payloads.into_iter().find_map(|payload| payload.error) {
        return Err(error.into());
    }
    indexer::index(
        &mut wtxn,
        &index,
        &ThreadPoolNoAbortBuilder::new().build()?,
        config.grenad_parameters(),
        &old_fields,
        new_fields,
        primary_key,
        &changes,
        EmbeddingConfigs::default(),
        &|| false,
        &Progress::default(),
    )?;
    wtxn.commit()?;
    fs::remove_file(file)?;
    Ok(())
}

fn write_documents(file: &Path) -> Result<(), Box<dyn Error>> {
    let mut output = BufWriter::new(File::create(file)?);
    for (key, line) in io::stdin().lock().lines().enumerate() {
        let row: Row = serde_json::from_str(&line?)?;
        let document = Document {
            key,
            id: row.id,
            title: row.title,
            description: row.description,
            popularity: row.popularity,
        };
        serde_json::to_writer(&mut output, &document)?;
        output.write_all(b"\n")?;
    }
    output.flush()?;
    Ok(())
}

fn search(folder: &Path, criteria: Vec<Criterion>) -> Result<(), Box<dyn Error>> {
    let index = open(folder, false)?;
    store_criteria(&index, criteria)?;
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let start = Instant::now();
        let rtxn = index.read_txn()?;
        let mut search = Search::new(&rtxn, &index);
        search
            .query(request.query)
            .limit(request.limit)
            .terms_matching_strategy(TermsMatchingStrategy::Last)
            .time_budget(TimeBudget::new(SEARCH_CUTOFF));
        let found = search.execute()?.documents_ids;
        let ms = start.elapsed().as_secs_f64() * 1000.0;

        let fields = index.fields_ids_map(&rtxn)?;
        let id = fields.id("id").ok_or("The index has no rows.")?;
        let ids = index
            .documents(&rtxn, found)?
            .into_iter()
            .map(|(_, document)| {
                let id = document.get(id).ok_or("A row has no id.")?;
                Ok(serde_json::from_slice(id)?)
            })
            .collect::<Result<Vec<Json>, Box<dyn Error>>>()?;
        serde_json::to_writer(&mut output, &Response { ids, ms })?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

fn store_criteria(index: &Index, criteria: Vec<Criterion>) -> Result<(), Box<dyn Error>> {
    let mut wtxn = index.write_txn()?;
    if index.criteria(&wtxn)? == criteria {
        return Ok(());
    }
    let config = IndexerConfig::default();
    let mut settings = Settings::new(&mut wtxn, index, &config);
    settings.set_criteria(criteria);
    settings.execute(|_| (), || false)?;
    wtxn.commit()?;
    Ok(())
}
