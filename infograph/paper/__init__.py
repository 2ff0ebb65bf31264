"""The paper's tables, cell by cell, and the report that sets them beside what was published."""
