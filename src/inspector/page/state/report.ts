// The data of a report: present if the page was written to a file, absent if a server shows it.
import type { ReportData } from '../../report-data.ts'

const element = document.getElementById('data')

/** The data inside the page; undefined if it shows a server. */
export const reportData = element ? (JSON.parse(element.textContent ?? '') as ReportData) : undefined
